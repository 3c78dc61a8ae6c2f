# Builds and runs, in WORK_DIR, a model in a project that has weft below it.

cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH folder)
cmake_path(GET folder PARENT_PATH folder)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
run(${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}" -B "${WORK_DIR}" -G Ninja
  "-DWEFT_FOLDER=${folder}" "-DCMAKE_CXX_COMPILER=${CXX}")
run(${CMAKE_COMMAND} --build "${WORK_DIR}" --target stack_check)
run("${WORK_DIR}/stack_check")
