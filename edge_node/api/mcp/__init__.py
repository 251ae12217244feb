"""The edge's tools for agents: the Model Context Protocol over HTTP, and over a desktop program's pipe."""
