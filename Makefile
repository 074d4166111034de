# The commands for development. `make` lists them with the texts after ##.

PYTHON := .venv/bin/python
# The files that name an image by its digest.
PINNED := Dockerfile docker-compose.yml .github/workflows/check.yml

.PHONY: help check pictures format-check lint words types migrations-check test package newest-django proofs bench demo format audit lock images editor editor-check tools

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

check: format-check lint words types migrations-check test ## the checks before a commit

format-check: tools ## check the format of the code
	$(PYTHON) -m ruff format --check .

lint: tools ## find common mistakes
	$(PYTHON) -m ruff check .

words: tools ## check plain words and marks for translation
	$(PYTHON) -m pytest -q tests/test_plain_words.py tests/translations/test_marks.py

types: tools ## check the types of everything except tests and benchmarks
	DEBUG=on $(PYTHON) -m mypy

migrations-check: tools ## find missing migrations
	DEBUG=on $(PYTHON) manage.py makemigrations --check --dry-run

test: ## run the tests that start no process except PostgreSQL; for all tests: ./homing test --all
	./homing test

package: tools ## build idempotency/ alone, and test its example on Django 5.2 and the newest 6.x
	$(PYTHON) .ci/django_versions.py package

newest-django: tools ## run some quick tests of the last commit on the newest Django 6.x
	$(PYTHON) .ci/django_versions.py homing

proofs: tools ## run the long proofs, about 90 minutes; one of them: make proofs PROOFS="storm --seed 7"
	$(PYTHON) -m tests.long_runs $(PROOFS)

bench: tools ## measure all promised figures; some: make bench ROWS="memory replay" OPTIONS=--quick SERVER=/usr/lib/postgresql/15/bin
	HOMING_POSTGRES_BIN=$(SERVER) $(PYTHON) -m benchmarks $(ROWS) $(OPTIONS)

pictures: tools ## take the screenshots of the docs from the running program
	$(PYTHON) docs/pictures/take.py

demo: ## publish and send an issue, then keep the site running
	./homing demo

format: tools ## format the code and fix simple mistakes
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

audit: tools ## find known vulnerabilities in the locked packages
	$(PYTHON) -m pip_audit --require-hashes --disable-pip --requirement requirements/test.txt

lock: ## lock the newest allowed versions again (needs uv)
	for name in production demo test; do \
	    uv pip compile --upgrade --universal --python-version 3.11 --generate-hashes \
	        --no-emit-index-url --no-header requirements/$$name.in -o requirements/$$name.txt || exit 1; \
	done

images: ## pin the newest base images of the same tags (needs docker)
	set -e; for image in $$(grep -hoE '[a-z]+:[^ @]+@sha256:' $(PINNED)); do \
	    tag=$${image%@*}; \
	    digest=$$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$$tag"); \
	    sed -i.old -E "s|$$tag@sha256:[0-9a-f]+|$$tag@$$digest|" $(PINNED); \
	done; rm -f $(PINNED:=.old)

editor: ## build the library of the composer's editor from its locked packages (needs npm)
	.ci/editor_library/build

editor-check: ## check that the library of the editor equals a new build from its locked packages (needs npm)
	.ci/editor_library/build --check

tools:
	@./homing test --version
