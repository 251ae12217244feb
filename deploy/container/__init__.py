"""What the containers of docker-compose.yml do before they are a service."""
