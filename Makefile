# snowflake: PGXS makefile
#
#   make                    build                (PG_CONFIG=… for another PostgreSQL)
#   make install            install, as whoever may write to PostgreSQL's directories
#   make unit               unit tests of the core, without PostgreSQL
#   make installcheck       regression tests on a running server that test/regress/default.conf fits
#   make tap                tests that start servers of their own; not as root
#   make clean
#
# script/test runs all tests in one go, in a copy of its own.

EXTENSION = snowflake
EXTVERSION = 1.0.0
MODULE_big = snowflake
PGFILEDESC = "snowflake - ids sorted by time, generated inside the server"
DATA = $(wildcard snowflake--*.sql)
SOURCES = $(sort $(wildcard src/pg/*.cpp))
OBJS = $(SOURCES:.cpp=.o)

PG_CONFIG ?= pg_config

# PostgreSQL's headers are included as system headers: what they would warn of is not ours.
# No exceptions: what cannot throw needs no guard where PostgreSQL calls it.
PG_CPPFLAGS = -I$(srcdir) -isystem $(shell $(PG_CONFIG) --includedir-server)
PG_CXXFLAGS = -std=c++20 -fno-exceptions -fno-rtti -fvisibility=hidden \
	-Wall -Wextra -Wno-register -DSNOWFLAKE_VERSION='"$(EXTVERSION)"' $(WERROR)

SHLIB_LINK = -lstdc++ # PGXS links with the C compiler

# The tests that a running server with a machine id can take (script/regress has servers for all).
REGRESS = $(shell sed -n 's/^default://p' test/regress/schedule)

EXTRA_CLEAN = $(OBJS:.o=.d) $(SOURCES:.cpp=.bc)

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# PGXS gives C++ files neither our flags when it makes bitcode, nor their headers as prerequisites.
COMPILE.cxx.bc += $(PG_CXXFLAGS)
COMPILE.cc += -MMD -MP
-include $(OBJS:.o=.d)

# PROVE_TESTS= chooses the tests, TAP_DIR= where their servers and logs go.
PGXS_TEST = $(abspath $(dir $(PGXS))../test)
PROVE_TESTS ?= test/t/*.pl
TAP_DIR ?= $(CURDIR)/tmp_check

.PHONY: tap
tap:
	rm -rf '$(TAP_DIR)'/tmp_check '$(TAP_DIR)'/data '$(TAP_DIR)'/log
	mkdir -p '$(TAP_DIR)'
	PATH='$(bindir)':"$$PATH" PG_REGRESS='$(PGXS_TEST)/regress/pg_regress' \
	TESTDIR='$(TAP_DIR)' TESTDATADIR='$(TAP_DIR)/data' TESTLOGDIR='$(TAP_DIR)/log' \
	prove -I '$(PGXS_TEST)/perl' -I '$(srcdir)/test/perl' $(PROVE_FLAGS) $(PROVE_TESTS)

.PHONY: unit
unit:
	$(MAKE) -C $(srcdir)/test/unit check
