"""Create signed-in users within a site.

Run `python -m benchmarks.programs.sign_in NUMBER GROUP`. Permissions come from the group, as on a
real site, so reading them costs the same. It prints the session keys.
"""

import sys

from benchmarks.site.site import Site
from benchmarks.site.within_site import begin, print_result, within

PUBLISHERS, MANAGERS = "Publishers", "Managers of readers"


def sessions_of(site: Site, people: int, group: str = PUBLISHERS) -> list[str]:
    """Return session keys of new, signed-in users of a group."""
    return list(within(site, "benchmarks.programs.sign_in", str(people), group))


def main() -> None:
    """Create the users and sign them in."""
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
    print_result([session_of(number) for number in range(number_of_people)])


if __name__ == "__main__":
    main()
