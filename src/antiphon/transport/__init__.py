"""HTTP/1.1 on uvloop and llhttp, both ways, and server-sent events. It knows no model."""
