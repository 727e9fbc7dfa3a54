"""Where models run: replicas behind providers, and the hosts of the engines and encoders that run on this machine."""
