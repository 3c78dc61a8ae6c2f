# Installs weft from BUILD_DIR into WORK_DIR, moves it, and builds and runs a
# client that knows nothing but find_package(weft). With pkg-config on the
# machine the same client is built by hand as well.

set(source "${CMAKE_CURRENT_LIST_DIR}")
set(prefix "${WORK_DIR}/moved")

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
run(${CMAKE_COMMAND} --install "${BUILD_DIR}" --prefix "${WORK_DIR}/first")
file(RENAME "${WORK_DIR}/first" "${prefix}")

run(${CMAKE_COMMAND} -S "${source}" -B "${WORK_DIR}/client" -G Ninja
  "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${CXX}")
run(${CMAKE_COMMAND} --build "${WORK_DIR}/client")
run("${WORK_DIR}/client/client")
run("${WORK_DIR}/client/checked_client")

find_program(PKG_CONFIG pkg-config)
if(PKG_CONFIG)
  set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig")
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs weft
    OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${CXX} -std=c++20 "${source}/main.cpp" ${flags}
    -o "${WORK_DIR}/by_hand")
  run("${WORK_DIR}/by_hand")
endif()
