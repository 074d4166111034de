"""Authors: invitations, roles, profiles and leaving."""
