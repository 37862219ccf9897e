# One environment, .venv, made on first use; after that every target starts at once.
# `make help` lists the targets. PYTHON=path picks the interpreter, ARGS=... goes to the program.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-full test-other fuzz lint format bench smoke wheel docs clean distclean

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# each program that a test starts would compile all of isthmus again
unexport PYTHONDONTWRITEBYTECODE
ifdef PYTHON
export PYTHON
endif

ready := .venv/.ready
bench_ready := .venv/.bench-ready
docs_ready := .venv/.docs-ready
newest_ready := .venv-newest/.ready
all_of_us := '.[test,dev,view]'
# another processor's rounding: older kernels of BLAS, and for native code vectors of two lanes, where both matter;
# and code optimised as users have it, while the other tests leave most of that out
numerical := $(addprefix tests/,spatial simulate identify native)
other := XLA_FLAGS= ISTHMUS_OPTIMISE= OPENBLAS_CORETYPE=$(if $(filter x86_64 amd64,$(shell uname -m)),Nehalem ISTHMUS_TARGET=sse2,ARMV8)

# $(call environment,folder,oldest Python,which,constraints,what to install)
define environment
	@$(1)/bin/python -m pip --version >/dev/null 2>&1 || { python=$$(sh .ci/find-python $(2) $(3)) \
	  && echo "making $(1) with $$($$python --version), once: this takes a minute or two" \
	  && $$python -m venv --clear $(1); }
	@$(1)/bin/python -m pip install -qq -c $(4) -e $(5)
	@touch $@
endef

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | while IFS='|' read -r name text; \
	  do printf '  make %-10s %s\n' "$$name" "$$text"; done

demo: $(ready) ## identify a pendulum from noisy logs; table, picture and report go to out/
	@.venv/bin/isthmus demo --out out $(ARGS)

test: $(ready) ## the tests, but for whole studies; fewer: make test ARGS="-m 'not slow' tests/spatial"
	@ISTHMUS_CHECK_SHAPES=$${ISTHMUS_CHECK_SHAPES-some} .venv/bin/python -m pytest -q -n 2 --dist worksteal $(ARGS)

test-full: $(ready) ## whole studies and laws over hundreds of robots, which make test leaves out: some minutes
	@.venv/bin/python -m pytest -q -n 2 --dist worksteal -m full $(ARGS)

test-other: $(ready) ## the fast numerical tests as on an older processor
	@$(other) .venv/bin/python -m pytest -q -n 2 --dist worksteal -m 'not slow' $(numerical) $(ARGS)

PART ?= native
SECONDS ?= 60
fuzz: $(ready) ## random programs (PART=native) or damaged files (PART=inputs) for SECONDS=60; findings go to out/fuzz/
	@.venv/bin/python -W ignore -m tests.fuzz $(PART) --seconds $(SECONDS) $(ARGS)

lint: $(ready) ## style, format and types
	@.venv/bin/ruff check -q .
	@.venv/bin/ruff format -q --check . || { .venv/bin/ruff format --check . ; exit 1; }
	@.venv/bin/ty check -q --error-on-warning || .venv/bin/ty check --error-on-warning
	@echo "lint: fine"

format: $(ready) ## put the code into the common format, mend what can be mended
	@.venv/bin/ruff check -q --fix . ; .venv/bin/ruff format -q .

bench: $(bench_ready) ## speed on this machine, beside other engines
	@.venv/bin/isthmus bench --out out $(ARGS)

smoke: $(newest_ready) ## a few tests with the newest JAX; needs Python 3.12 or newer
	@.venv-newest/bin/python -m pytest -q -m smoke $(ARGS)

wheel: $(ready) ## build the package and try it in empty environments, one for each Python from 3.11 to 3.13 that is here
	@bash .ci/try-wheel

docs: $(docs_ready) ## the documentation site, in out/site; a broken link fails
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build -q --strict
	@echo "docs: out/site/index.html"

clean: ## remove caches and outputs
	@rm -rf out build dist .pytest_cache .ruff_cache .hypothesis
	@find . -name .venv\* -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## the environments too
	@rm -rf .venv .venv-newest

$(ready): pyproject.toml constraints.txt
	$(call environment,.venv,3.11,,constraints.txt,$(all_of_us))

$(bench_ready): $(ready)
	@echo "installing the engines to compare with, once"
	$(call environment,.venv,3.11,,constraints.txt,'.[bench]')

$(docs_ready): $(ready)
	@echo "installing what builds the site, once"
	$(call environment,.venv,3.11,,constraints.txt,'.[docs]')

$(newest_ready): pyproject.toml constraints-newest.txt
	$(call environment,.venv-newest,3.12,newest,constraints-newest.txt,'.[test]')
