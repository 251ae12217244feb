"""Links of a given rate, delay and loss between the edges and the cloud of one machine: each service in a network namespace of its own.

The services stay on 127.0.0.1 of their namespace. Between the namespaces pass IP packets, through TUN devices and a link emulator in
this package's one process; a relay at each end carries a service's port to the link and out of it. No kernel module is needed.
"""
