"""Memory that outlives a message: regions of one machine, and buffers gathered again and again."""
