"""Each guard of the catalogue has one place in the code, and its tests exist."""

from collections import Counter

from tests.guards.all_guards import GUARDS
from tests.guards.anchors import LostError, Tree, without
from tests.guards.selection import NamedTests, names_in
from tests.postgres_cluster import ROOT


def test_every_guard_has_one_place_and_existing_tests() -> None:
    tree, tests, faults = Tree.at(ROOT), NamedTests(ROOT), []
    files = [
        *ROOT.glob("migrations/*/*.py"),
        *ROOT.glob("idempotency/migrations/*.py"),
        *ROOT.glob("*/**/sql/*.sql"),
    ]
    migrations = "".join(path.read_text() for path in files)
    for guard in GUARDS:
        try:
            found = [tree.find(change) for change in guard.changes]
            texts = without(found)
            assert guard.tests, "no test is named"
            assert len(guard.changes) < 2 or guard.why, "it does not say why both are taken out"
            assert bool(guard.changes) != bool(guard.sql), "it has changes or SQL, and not both"
            assert all(text != (ROOT / path).read_text() for path, text in texts.items()), "same"
            # Ignore primary keys, because PostgreSQL chooses their names.
            unknown = [n for n in names_in(guard.sql) if n not in migrations and "_pkey" not in n]
            assert not unknown, f"no migration has {unknown}"
            for test in guard.tests:
                tests.node(test)
        except (AssertionError, LostError, SyntaxError) as fault:
            faults.append(f"{guard.promise}: {str(fault).splitlines()[0]}")
    twice = [name for name, times in Counter(g.promise for g in GUARDS).items() if times > 1]

    assert faults == []
    assert twice == []
