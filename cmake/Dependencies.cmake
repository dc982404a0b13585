# Third-party libraries, all from the distribution. A library is looked for only when a module
# names it, and its headers are SYSTEM headers, so that our warnings do not apply to them.

set(ZHINU_PACKAGE_OF_OpenSSL::Crypto OpenSSL)
set(ZHINU_PACKAGE_OF_CLI11::CLI11 CLI11)
set(ZHINU_PACKAGE_OF_fmt::fmt fmt)
set(ZHINU_PACKAGE_OF_nlohmann_json::nlohmann_json nlohmann_json)
set(ZHINU_PACKAGE_OF_GTest::gtest_main GTest)
set(ZHINU_PACKAGE_OF_GTest::gmock GTest)
set(ZHINU_PACKAGE_OF_benchmark::benchmark_main benchmark)
set(ZHINU_PACKAGE_OF_rapidcheck rapidcheck)

# Finds the packages of the targets in ARGN. A macro: imported targets belong to the caller's scope.
macro(zhinu_find_libraries)
  foreach(library IN ITEMS ${ARGN})
    if(NOT TARGET "${library}")
      find_package(${ZHINU_PACKAGE_OF_${library}} REQUIRED GLOBAL)
    endif()
  endforeach()
endmacro()

find_package(Threads REQUIRED)
if(ZHINU_TESTS)
  zhinu_find_libraries(GTest::gtest_main GTest::gmock rapidcheck)
endif()
if(ZHINU_BENCH)
  zhinu_find_libraries(benchmark::benchmark_main)
endif()
