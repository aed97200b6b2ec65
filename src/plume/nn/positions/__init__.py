"""Where position enters the network, one file a scheme."""
