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
# test of ctest, by the program's name as its label; `-L unit` finds unit_base,
# too. Sources are named relative to tests/. A stress test has the machine to
# itself. Files are compiled in batches: names of their own must differ. Nothing
# happens unless the program is one of WEFT_PROGRAMS.
#
# weft_test(NAME SOURCE... NEEDS_KERNEL PATTERN): those tests whose names match
# GoogleTest's pattern are labelled NAME-needs_kernel, which -L NAME finds as
# well: they ask for what an emulator does not do as the kernel does it, so they
# are left out where one runs them. As few as possible, each with its reason.
function(weft_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NEEDS_KERNEL" "")
  weft_wants(${name} wanted)
  if(NOT wanted)
    return()
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  weft_build_options(${name})
  if(WEFT_TEST_BATCH GREATER 1)
    set_target_properties(${name} PROPERTIES
      UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${WEFT_TEST_BATCH})
    # A local may be called as something of another file is.
    target_compile_options(${name} PRIVATE -Wno-shadow
      $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>)
  endif()
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
  set(properties LABELS ${name} TIMEOUT 120)
  if(name MATCHES "^stress_")
    cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
    list(APPEND properties PROCESSORS ${cores})
  endif()
  if(CMAKE_CROSSCOMPILING_EMULATOR)
    weft_emulated_test(${name} "${arg_NEEDS_KERNEL}" ${properties})
    return()
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
    PROPERTIES ${properties} LABELS ${name}-needs_kernel)
endfunction()

# An emulator takes longer to start than most tests to run: so a program is two
# tests of ctest, each a half of it. Without what needs a kernel, and what is a
# matter of size or of the algorithm alone.
function(weft_emulated_test name needs_kernel)
  set(left_out ${WEFT_TEST_LEFT_OUT} ${needs_kernel})
  list(JOIN left_out : left_out)
  foreach(half 0 1)
    add_test(NAME ${name}.${half}
      COMMAND ${name} --gtest_brief=1 --gtest_filter=-${left_out})
    set_tests_properties(${name}.${half} PROPERTIES ${ARGN} TIMEOUT 900
      ENVIRONMENT "GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=${half}")
  endforeach()
endfunction()

# weft_refused(SOURCE [WHAT PATTERN]...): tests that the source compiles, and does
# not with REFUSED_<WHAT> defined: then the compiler says what matches PATTERN.
function(weft_refused source)
  get_filename_component(name ${source} NAME_WE)
  set(compile ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only
    -I${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/${source})
  add_test(NAME ${name}.nothing COMMAND ${compile})
  set_tests_properties(${name}.nothing PROPERTIES LABELS refused TIMEOUT 120)
  set(rest ${ARGN})
  while(rest)
    list(POP_FRONT rest what pattern)
    add_test(NAME ${name}.${what} COMMAND ${compile} -DREFUSED_${what})
    set_tests_properties(${name}.${what} PROPERTIES
      LABELS refused TIMEOUT 120 PASS_REGULAR_EXPRESSION "error: .*${pattern}")
  endwhile()
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
