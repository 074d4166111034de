"""The web server of the site: waitress, with limits for slow clients."""
