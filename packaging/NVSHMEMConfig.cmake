# NVSHMEM's CMake targets with nvshmemrs behind them: for programs that look for NVSHMEM in NVSHMEM_HOME. There is no device library:
# kernels need the headers only.
get_filename_component(nvshmem_HOME "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(NVSHMEM_INCLUDE_DIR "${nvshmem_HOME}/include")
set(NVSHMEM_LIBRARY_DIR "${nvshmem_HOME}/lib")
if(NOT TARGET nvshmem::nvshmem_host)
  add_library(nvshmem::nvshmem_host UNKNOWN IMPORTED)
  set_target_properties(nvshmem::nvshmem_host PROPERTIES
    IMPORTED_LOCATION "${nvshmem_HOME}/lib/libnvshmem_host.so.3"
    INTERFACE_INCLUDE_DIRECTORIES "${nvshmem_HOME}/include"
    INTERFACE_LINK_LIBRARIES "${nvshmem_HOME}/lib/libnvshmemrs.so")
  add_library(nvshmem::nvshmem_device INTERFACE IMPORTED)
  set_target_properties(nvshmem::nvshmem_device PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${nvshmem_HOME}/include")
  add_library(nvshmem::nvshmem INTERFACE IMPORTED)
  set_target_properties(nvshmem::nvshmem PROPERTIES
    INTERFACE_LINK_LIBRARIES "nvshmem::nvshmem_host;nvshmem::nvshmem_device")
endif()
