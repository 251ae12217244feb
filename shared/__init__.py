"""What the edge and the cloud must agree on: records, ports, wire bodies, errors. Imports nothing of ours."""
