# WeftTest: one line per test program, one per lint.

include(GoogleTest)
find_package(GTest REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# weft_test(NAME SOURCE...): a GoogleTest program whose every TEST becomes a
# test of ctest. Sources are named relative to tests/; the first folder is the
# label: unit, stress, regress. A stress test has the machine to itself.
function(weft_test name)
  add_executable(${name} ${ARGN})
  weft_build_options(${name})
  target_link_libraries(${name} PRIVATE
    weft weft_test_support GTest::gtest GTest::gtest_main)
  target_include_directories(${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # INSTANTIATE_TEST_SUITE_P without a name generator
    target_compile_options(${name} PRIVATE
      -Wno-gnu-zero-variadic-macro-arguments)
  endif()
  string(REGEX REPLACE "/.*" "" label "${ARGV1}")
  set(properties LABELS ${label} TIMEOUT 120)
  if(label STREQUAL "stress")
    cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
    list(APPEND properties PROCESSORS ${cores})
  endif()
  gtest_discover_tests(${name}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES ${properties})
endfunction()

# weft_lint(NAME SCRIPT [ARGUMENT...]): a check of tools/ as a test.
function(weft_lint name script)
  add_test(NAME ${name}
    COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/${script} ${ARGN})
  set_tests_properties(${name} PROPERTIES
    LABELS lint
    TIMEOUT 600
    ENVIRONMENT "CXX=${CMAKE_CXX_COMPILER};PYTHONDONTWRITEBYTECODE=1")
endfunction()
