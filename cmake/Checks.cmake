# Checks of the tree itself that run beside the unit tests.

function(zhinu_checks)
  if(NOT ZHINU_TESTS)
    return()
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_test(NAME lint.tree COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/lint"
                                  "${PROJECT_SOURCE_DIR}")
  add_test(NAME lint.self COMMAND Python3::Interpreter -m unittest discover -s tools/lint -b
           WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(lint.tree lint.self PROPERTIES TIMEOUT 120 LABELS lint)
endfunction()
