"""Hardware in the loop: packets, shared memory and safety rules, once for node, native loop and device."""
