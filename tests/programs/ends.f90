! Ends of the program while another thread waits: the first word says which.
module waiter
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use nvshmemrs
  implicit none
  type(nvshmemrs_int64_array1), save :: word
  integer(c_int32_t), volatile, save :: outcome = -1, started = 0
  interface
    integer(c_int) function pthread_create(thread, attr, start, argument) bind(c)
      import :: c_int, c_ptr, c_funptr, c_intptr_t
      integer(c_intptr_t), intent(out) :: thread
      type(c_ptr), value :: attr, argument
      type(c_funptr), value :: start
    end function pthread_create
    integer(c_int) function pthread_join(thread, outcome) bind(c)
      import :: c_int, c_ptr, c_intptr_t
      integer(c_intptr_t), value :: thread
      type(c_ptr), value :: outcome
    end function pthread_join
    integer(c_int) function usleep(microseconds) bind(c)
      import :: c_int
      integer(c_int), value :: microseconds
    end function usleep
  end interface
contains
  type(c_ptr) function wait_for_ever(argument) bind(c)
    type(c_ptr), value :: argument
    integer(c_int32_t) :: stat
    started = 1
    call nvshmemrs_wait_until(word%values(1), NVSHMEMRS_CMP_EQ, 1_int64, stat=stat)
    outcome = stat
    wait_for_ever = argument
  end function wait_for_ever
end module waiter

program ends
  use waiter
  implicit none
  character(20) :: how
  integer(c_intptr_t) :: thread
  call get_command_argument(1, how)
  call nvshmemrs_init()
  call word%allocate(1)
  call nvshmemrs_barrier()
  if (pthread_create(thread, c_null_ptr, c_funloc(wait_for_ever), c_null_ptr) /= 0) error stop 'no thread'
  ! Until the wait is on the board.
  do while (started == 0)
    if (usleep(1000) /= 0) error stop 'no sleep'
  end do
  if (usleep(300000) /= 0) error stop 'no sleep'
  select case (how)
  case ('stop')
    stop 3
  case ('error')
    error stop 4
  case ('finalize')
    call nvshmemrs_finalize()
    if (pthread_join(thread, c_null_ptr) /= 0) error stop 'no end of the thread'
    if (outcome /= NVSHMEMRS_ERROR_INTERRUPTED) error stop 'the wait ended with another status'
    print '(a)', 'fine'
    stop 6
  end select
end program ends
