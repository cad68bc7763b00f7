"""Speed and memory of rope_lib beside other libraries and the machine's copy limit."""
