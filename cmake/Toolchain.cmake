# Language, flags, warnings, sanitizers, linker and compiler cache: one place for all targets.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Position-independent functions that others could replace are never inlined: hide them.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug or Release" FORCE)
endif()

# No -DNDEBUG anywhere: our assertions stay on in every build. No -march: kernels choose at run
# time with target attributes, so that one binary runs on every machine of a cluster.
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # clang's builds are for its warnings and sanitizers: line tables give a symbolised stack, and
  # debugging is for g++'s build.
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -gline-tables-only")
endif()
# -mtune only orders instructions: the binary runs on every machine. The cores of this tuning are
# common in clusters, and a small message costs 12 % less on them.
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -g -mtune=znver2")

# Equal operands must give equal bits with both compilers; a fused multiply-add would not.
add_compile_options(-ffp-contract=off)
# Paths in debug data are relative: builds do not depend on where the tree lies.
add_compile_options("-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.")

set(ZHINU_WARNINGS
    -Werror -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
    -Wold-style-cast -Wcast-align -Woverloaded-virtual -Wdouble-promotion -Wformat=2
    -Wimplicit-fallthrough -Wswitch-enum -Wundef)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND ZHINU_WARNINGS -Wduplicated-cond -Wlogical-op -Wuseless-cast -Wnull-dereference)
else()
  list(APPEND ZHINU_WARNINGS -Wthread-safety)
endif()

if(ZHINU_SANITIZE STREQUAL "thread")
  set(ZHINU_SANITIZE_FLAGS -fsanitize=thread)
elseif(ZHINU_SANITIZE MATCHES "^(address|fuzzer)$")
  # Both carry the fuzzer's coverage hooks, so that the two builds share cached objects.
  set(ZHINU_SANITIZE_FLAGS -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
elseif(ZHINU_SANITIZE)
  message(FATAL_ERROR "ZHINU_SANITIZE is '${ZHINU_SANITIZE}', expected address, thread or fuzzer")
endif()
if(ZHINU_SANITIZE)
  add_compile_options(${ZHINU_SANITIZE_FLAGS} -fno-omit-frame-pointer)
  add_link_options(${ZHINU_SANITIZE_FLAGS})
  set_property(GLOBAL PROPERTY JOB_POOLS sanitized_link=1)
  set(CMAKE_JOB_POOL_LINK sanitized_link)
endif()
if(ZHINU_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

find_program(ZHINU_MOLD mold)
find_program(ZHINU_LLD NAMES ld.lld ld.lld-14)
if(ZHINU_MOLD)
  add_link_options(-fuse-ld=mold)
elseif(ZHINU_LLD)
  add_link_options(-fuse-ld=lld)
endif()

find_program(ZHINU_CCACHE ccache)
if(ZHINU_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      "${ZHINU_CCACHE}")
endif()
