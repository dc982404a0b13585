# A module is one folder of src/. The file names say what becomes of them:
#   x.cc        the static library zhinu_<folder>
#   x_test.cc   one GoogleTest program <folder>_test
#   x_bench.cc  one Google Benchmark program <folder>_bench (ZHINU_BENCH)
#   x_fuzz.cc   a libFuzzer program x_fuzz (ZHINU_SANITIZE=fuzzer), and in every build x_replay,
#               which feeds tests/fuzz/corpus/x/ to it as the test corpus.x
include(GoogleTest)

# zhinu_module(<folder> [DEPS <modules>] [LIBS <third-party targets>] [DEFINES <name=value>])
# A folder that does not exist or holds no source yet is skipped.
function(zhinu_module folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPS;LIBS;DEFINES")
  set(directory "${PROJECT_SOURCE_DIR}/src/${folder}")
  file(GLOB_RECURSE all CONFIGURE_DEPENDS "${directory}/*.cc" "${directory}/*.h")
  if(NOT all)
    return()
  endif()
  zhinu_find_libraries(${arg_LIBS})
  zhinu_modules_present(deps ${arg_DEPS})

  set(sources ${all})
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|_fuzz)\\.cc$")
  list(REMOVE_ITEM sources "${directory}/main.cc")
  zhinu_library(zhinu_${folder} SOURCES ${sources} LINK ${deps} ${arg_LIBS}
                DEFINES ${arg_DEFINES})

  zhinu_programs_of("${directory}" ${folder} ${folder} zhinu_${folder})
endfunction()

# zhinu_binary(<name> FROM <folder>): the program whose main is src/<folder>/main.cc.
function(zhinu_binary name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FROM" "")
  set(main "${PROJECT_SOURCE_DIR}/src/${arg_FROM}/main.cc")
  file(GLOB present CONFIGURE_DEPENDS "${main}")
  if(present)
    zhinu_program(${name} SOURCES "${main}" LINK zhinu_${arg_FROM})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  endif()
endfunction()

# Tests and fuzz targets under tests/ that need more than one module: the program cross_test.
function(zhinu_cross_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "DEPS")
  zhinu_modules_present(deps ${arg_DEPS})
  zhinu_programs_of("${PROJECT_SOURCE_DIR}/tests" tests cross ${deps})
endfunction()

# The benchmarks of bench/micro: the program micro_bench.
function(zhinu_micro_bench)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "DEPS")
  zhinu_modules_present(deps ${arg_DEPS})
  zhinu_programs_of("${PROJECT_SOURCE_DIR}/bench/micro" bench micro ${deps})
endfunction()

# The test, benchmark and fuzz programs of one directory; ARGN is what they link.
function(zhinu_programs_of directory folder prefix)
  if(ZHINU_TESTS)
    file(GLOB_RECURSE tests CONFIGURE_DEPENDS "${directory}/*_test.cc")
    if(tests)
      zhinu_program(${prefix}_test SOURCES ${tests}
                    LINK ${ARGN} GTest::gtest_main GTest::gmock rapidcheck)
      target_precompile_headers(${prefix}_test REUSE_FROM gtest_headers)
      target_compile_options(${prefix}_test PRIVATE ${ZHINU_TEST_DEBUG})
      gtest_discover_tests(${prefix}_test DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                           NO_PRETTY_VALUES TEST_PREFIX "${prefix}."
                           PROPERTIES TIMEOUT 300 LABELS ${prefix})
    endif()
    file(GLOB_RECURSE fuzzers CONFIGURE_DEPENDS "${directory}/*_fuzz.cc")
    foreach(fuzzer IN LISTS fuzzers)
      zhinu_fuzzer("${fuzzer}" ${ARGN})
    endforeach()
  endif()
  if(ZHINU_BENCH)
    file(GLOB_RECURSE benches CONFIGURE_DEPENDS "${directory}/*_bench.cc")
    if(benches)
      zhinu_program(${prefix}_bench SOURCES ${benches} LINK ${ARGN} benchmark::benchmark_main)
    endif()
  endif()
endfunction()

# One file with LLVMFuzzerTestOneInput: its corpus replay, and its fuzzer in the fuzz build.
function(zhinu_fuzzer source)
  get_filename_component(stem "${source}" NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name "${stem}")
  zhinu_program(${name}_replay LINK ${ARGN}
                SOURCES "${source}" "${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cc")
  add_test(NAME corpus.${name}
           COMMAND ${name}_replay "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name}")
  set_tests_properties(corpus.${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300 LABELS corpus)
  if(ZHINU_SANITIZE STREQUAL "fuzzer")
    zhinu_program(${name}_fuzz SOURCES "${source}" LINK ${ARGN})
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${name}_fuzz)
  endif()
endfunction()

# The targets zhinu_<module> of those modules in ARGN that exist.
function(zhinu_modules_present result)
  set(present "")
  foreach(module IN LISTS ARGN)
    if(TARGET zhinu_${module})
      list(APPEND present zhinu_${module})
    endif()
  endforeach()
  set(${result} "${present}" PARENT_SCOPE)
endfunction()

# A static library, or an interface where the folder has only headers so far.
function(zhinu_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;DEFINES")
  if(arg_SOURCES)
    add_library(${name} STATIC ${arg_SOURCES})
    target_compile_options(${name} PRIVATE ${ZHINU_WARNINGS})
    set(visibility PUBLIC)
  else()
    add_library(${name} INTERFACE)
    set(visibility INTERFACE)
  endif()
  target_include_directories(${name} ${visibility} "${PROJECT_SOURCE_DIR}/src"
                             "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${name} ${visibility} ${arg_LINK} Threads::Threads)
  target_compile_definitions(${name} ${visibility} ${arg_DEFINES})
endfunction()

function(zhinu_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE ${ZHINU_WARNINGS})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
endfunction()

# A third of the time of a test's compilation goes into g++'s debug data of GoogleTest's templates:
# tests get stacks with lines, the code that they test gets everything.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(ZHINU_TEST_DEBUG -g1)
endif()

# GoogleTest's headers are a third of the compile time of a test; they are compiled once per build.
if(ZHINU_TESTS)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/gtest_headers.cc" CONTENT "")
  add_library(gtest_headers OBJECT "${PROJECT_BINARY_DIR}/gtest_headers.cc")
  target_precompile_headers(gtest_headers PRIVATE <gtest/gtest.h>)
  target_link_libraries(gtest_headers PRIVATE GTest::gtest)
  # Code for a program, as in the tests that use it: a compiler refuses headers of another kind.
  set_target_properties(gtest_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(gtest_headers PRIVATE -fPIE ${ZHINU_WARNINGS} ${ZHINU_TEST_DEBUG})
endif()

# `cmake --build --preset fuzz --target fuzzers` builds what the fuzzing needs and no test.
add_custom_target(fuzzers)
