"""
People who are signed in: `python -m benchmarks.programs.sign_in NUMBER GROUP`, within a site.

What they may do they may by their group, as on a site that is run for real: looking that up costs
what it costs. Tells the keys of their sessions.
"""

import sys

from benchmarks.site.site import Site
from benchmarks.site.within_site import begin, tell, within

PUBLISHERS, MANAGERS = "Publishers", "Managers of readers"


def sessions_of(site: Site, people: int, group: str = PUBLISHERS) -> list[str]:
    """The sessions of so many new people of a group who have just signed in."""
    return list(within(site, "benchmarks.programs.sign_in", str(people), group))


def main() -> None:
    """Make the people and sign them in."""
    begin()
    from django.contrib.auth import get_user_model
    from django.contrib.auth.models import Group
    from django.test import Client
    from django.utils.text import slugify

    def session_of(number: int) -> str:
        person = get_user_model().objects.create_user(
            f"{slugify(group)}-{number}", password=None, is_staff=True
        )
        person.groups.add(Group.objects.get(name=group))
        client = Client()
        client.force_login(person)
        return client.cookies["sessionid"].value

    number_of_people, group = int(sys.argv[1]), sys.argv[2]
    tell([session_of(number) for number in range(number_of_people)])


if __name__ == "__main__":
    main()
