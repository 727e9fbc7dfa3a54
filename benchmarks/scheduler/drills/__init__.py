"""The scheduler beside the routers of model clusters, over real HTTP: mock replicas, a load, and what each is put through."""
