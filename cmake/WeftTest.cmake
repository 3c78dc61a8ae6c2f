# WeftTest: one line per test program, one per lint.

include(GoogleTest)
if(CMAKE_CROSSCOMPILING)
  # Distributions have the library for their own processor, the source for all.
  set(googletest /usr/src/googletest/googletest)
  if(NOT EXISTS ${googletest}/CMakeLists.txt)
    message(FATAL_ERROR "${googletest} is missing (package googletest)")
  endif()
  set(GOOGLETEST_VERSION 1.12.1)
  set(INSTALL_GTEST OFF)
  add_subdirectory(${googletest} ${PROJECT_BINARY_DIR}/googletest
    EXCLUDE_FROM_ALL)
  if(NOT TARGET GTest::gtest)
    add_library(GTest::gtest ALIAS gtest)
    add_library(GTest::gtest_main ALIAS gtest_main)
  endif()
else()
  find_package(GTest REQUIRED)
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# weft_test(NAME SOURCE...): a GoogleTest program whose every TEST becomes a
# test of ctest. Sources are named relative to tests/; the first folder is the
# label: unit, stress, regress. A stress test has the machine to itself.
#
# weft_test(NAME SOURCE... NEEDS_KERNEL PATTERN): those tests whose names match
# GoogleTest's pattern are labelled unit-needs_kernel, which -L unit finds as
# well: they ask for what an emulator does not do as the kernel does it, so the
# lane that emulates leaves them out. As few as possible, each with its reason.
function(weft_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NEEDS_KERNEL" "")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
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
  if(CMAKE_CROSSCOMPILING_EMULATOR)
    target_compile_definitions(${name} PRIVATE WEFT_TEST_EMULATED)
  endif()
  string(REGEX REPLACE "/.*" "" label "${ARGV1}")
  set(properties LABELS ${label} TIMEOUT 120)
  if(label STREQUAL "stress")
    cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
    list(APPEND properties PROCESSORS ${cores})
  endif()
  set(how DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60)
  if(NOT arg_NEEDS_KERNEL)
    gtest_discover_tests(${name} ${how} PROPERTIES ${properties})
    return()
  endif()
  gtest_discover_tests(${name} ${how} TEST_FILTER "-${arg_NEEDS_KERNEL}"
    PROPERTIES ${properties})
  gtest_discover_tests(${name} ${how} TEST_FILTER "${arg_NEEDS_KERNEL}"
    TEST_LIST ${name}_NEEDS_KERNEL
    PROPERTIES ${properties} LABELS ${label}-needs_kernel)
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
