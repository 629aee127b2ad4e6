# Every target sets up what it needs: a virtual environment in $(VENV) and an
# editable install, again only when setup.cfg has changed.
#
#   make demo       derive, compare and simulate some models; see build/demo
#   make test       style, documentation, tests and doctests
#   make slow       the tests marked slow
#   make last-bit   the tests and the gallery as on a plainer processor, with
#                   starts moved by one unit in the last place
#   make fuzz N=500 so many random mechanisms through every method
#   make laws       every law, method and model; the tables in doc/trust
#   make coverage   lines and branches that the tests reach; the table in
#                   doc/trust. Libraries that are not available are named
#   make docs       the documentation, in build/doc/html
#   make bench      the benchmarks, in doc/benchmarks; peers that are not
#                   installed are named there
#   make peers      installs the peers of the benchmarks
#   make interop    installs the programs that equations are handed to, and
#                   runs their tests, PyDy's own among them; names what is not
#                   available. Checkouts of symbrim and opty are read if
#                   SYMBRIM_DEV=path and OPTY_DEV=path are given
#   make lint       style only
#   make versions   the tests on every supported SymPy, the oldest of all that
#                   is needed, every Python in PYTHONS, and a checkout of
#                   SymPy's development version if SYMPY_DEV=path is given
#   make clean      remove all that these targets have made

PYTHON ?= python3
VENV ?= .venv
DEMO_MODELS ?= four_bar rolling_disc parallel_cranks
SYMPY_VERSIONS ?= 1.13 1.14
OLDEST_PYTHON ?= python3.10
OLDEST ?= sympy==1.13.0 mpmath==1.2.* numpy==1.26.* scipy==1.14.* \
	matplotlib==3.8.* pyparsing==3.1.* numba==0.62.* \
	pytest==8.0.*
PYTHONS ?= python3.12 python3.13
SYMPY_DEV ?=
WORKERS ?= auto
N ?= 500
PYTEST_ARGS ?=
BENCH_ARGS ?=
PEERS ?= llvmlite CyRK pydy cython casadi pin drake exudyn mujoco \
	diffrax heyoka
INTEROP ?= pydy cython symbrim casadi jax heyoka numba cffi \
	cyipopt
OPTIONAL ?= pandas scikit-sundae

RUN = $(VENV)/bin/python
# Pictures that differ are in build/pictures.
PYTEST = -m pytest -n $(WORKERS) --mpl --mpl-results-path=build/pictures \
	$(PYTEST_ARGS)
# The tests of a file share models, so one worker runs them all.
QUICK = -m "not slow" --dist loadfile
SOURCES = $(wildcard sympy_constrained tests doc benchmarks)
SPHINX = -m sphinx -W -n --keep-going -E -j auto -d build/doc/trees

# The tests use all processors themselves, and open no window.
test slow last-bit fuzz laws coverage interop versions: \
	export OMP_NUM_THREADS = 1
test slow last-bit fuzz laws coverage interop versions: \
	export OPENBLAS_NUM_THREADS = 1
test slow last-bit coverage interop versions docs bench demo: \
	export MPLBACKEND = Agg
# A larger cache of SymPy saves repeated computations.
test: export SYMPY_CACHE_SIZE = 100000

.PHONY: demo test slow last-bit fuzz laws coverage docs bench peers interop lint clean \
	versions
.DELETE_ON_ERROR:
.PRECIOUS: $(VENV)-%/.ready

demo: $(VENV)/.ready-demo
	$(RUN) -m sympy_constrained compare $(DEMO_MODELS) --save build/demo

# pytest comes last, so that its closing line is the last one printed.
test: lint docs
	$(RUN) $(PYTEST) $(QUICK)

slow: $(VENV)/.ready-test
	$(RUN) $(PYTEST) -m slow

# NumPy only warns of names that it does not know; OpenBLAS ignores them.
last-bit: export OPENBLAS_CORETYPE ?= Prescott
last-bit: export LAST_BIT ?= sse2 start
last-bit: export NPY_DISABLE_CPU_FEATURES ?= X86_V3 X86_V4 AVX512_ICL \
	AVX2 FMA3 AVX512F AVX512CD AVX512_SKX
last-bit: $(VENV)/.ready-test
	$(RUN) $(PYTEST) $(QUICK)
	$(RUN) $(PYTEST) tests/examples/test_gallery.py

# A campaign that was stopped goes on with the same file.
fuzz: export PYTHONPATH = .:tests
fuzz: $(VENV)/.ready-test
	$(RUN) -m fuzz $(N) --file build/fuzz.jsonl

laws: export PYTHONPATH = .:tests
laws: $(VENV)/.ready-test
	$(RUN) -m laws --table

# One after the other, for some are not there for every platform.
coverage: export PYTHONPATH = .:tests
coverage: $(VENV)/.ready-coverage
	for library in $(INTEROP) $(OPTIONAL); do \
		$(RUN) -m pip install --quiet $$library || \
		echo "$$library is not available here"; done
	$(RUN) $(PYTEST) $(QUICK) --cov --cov-report=json:build/coverage.json
	$(RUN) -m coverage_table build/coverage.json

# The script compiles the integrator for all those of the gallery, which run
# side by side.
docs: $(VENV)/.ready-test
	$(RUN) doc/examples/start_here/plot_cartesian_pendulum.py
	$(RUN) $(SPHINX) doc build/doc/html

lint: $(VENV)/.ready-test
	$(RUN) -m flake8 $(SOURCES)

bench: $(VENV)/.ready-test
	$(RUN) benchmarks/run.py --output doc/benchmarks $(BENCH_ARGS) \
		$(if $(SYMPY_DEV),--sympy-dev "$(abspath $(SYMPY_DEV))")
	$(RUN) benchmarks/bench_contact.py

# One after the other, for some are not there for every platform.
peers: $(VENV)/.ready-test
	for peer in $(PEERS); do $(RUN) -m pip install --quiet $$peer || \
		echo "$$peer is not available here"; done

# One after the other, for cyipopt needs an Ipopt that is there. Without it opty
# is tested by evaluation alone.
interop: $(VENV)/.ready-test
	for library in $(INTEROP); do \
		$(RUN) -m pip install --quiet $$library || \
		echo "$$library is not available here"; done
	$(RUN) -m pip install --quiet --no-deps opty || \
		echo "opty is not available here"
	$(RUN) $(PYTEST) -rs tests/interop

# Environments

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.ready-demo: EXTRAS = numeric,plot
$(VENV)/.ready-test: EXTRAS = test,doc
$(VENV)/.ready-coverage: EXTRAS = test,doc,coverage
$(VENV)/.ready-demo $(VENV)/.ready-test $(VENV)/.ready-coverage: setup.cfg \
		pyproject.toml | $(VENV)/.made
	@echo "Installing sympy_constrained[$(EXTRAS)] in $(VENV)"
	@$(RUN) -m pip install --quiet --editable ".[$(EXTRAS)]"
	@touch $@

# Supported versions: of SymPy, of Python, and the oldest of everything. Each
# has an environment of its own.

versions: $(SYMPY_VERSIONS:%=versions-sympy-%) versions-oldest \
		$(PYTHONS:%=versions-%) $(if $(SYMPY_DEV),versions-dev)

versions-%: $(VENV)-%/.ready
	$(VENV)-$*/bin/python $(PYTEST) $(QUICK)

versions-dev: export PYTHONPATH = $(abspath $(SYMPY_DEV))

$(VENV)-sympy-%/.ready: NEEDS = sympy==$(@D:$(VENV)-sympy-%=%).*
$(VENV)-oldest/.ready: NEEDS = $(OLDEST)
$(VENV)-oldest/.ready: INTERPRETER = $(OLDEST_PYTHON)
$(VENV)-python%/.ready: INTERPRETER = $(@D:$(VENV)-%=%)
$(VENV)-python%/.ready: NEEDS = gmpy2
$(VENV)-%/.ready: INTERPRETER = $(PYTHON)
$(VENV)-%/.ready: setup.cfg pyproject.toml
	@echo "Installing sympy_constrained[test] $(NEEDS)"
	@$(INTERPRETER) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --editable ".[test]" \
		$(NEEDS:%="%")
	@touch $@

clean:
	rm -rf $(VENV) $(VENV)-* build *.egg-info .pytest_cache \
		.mypy_cache doc/api doc/gallery
	find sympy_constrained tests doc benchmarks -name __pycache__ \
		-type d -prune -exec rm -rf {} + 2>/dev/null || true
