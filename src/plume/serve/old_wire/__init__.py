"""bert-as-service over ZeroMQ: its unchanged client asks on one port and hears its answers on another."""
