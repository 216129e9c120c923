! A distributed FFT: the electric potential of point charges, by two-dimensional transforms. The Fortran form of
! examples/python/fft.py; both print the same result.
!
!     nvshmemrs-run -n 4 -- ./fft [SIZE]
!
! The equation is -laplacian(u) = charge on a periodic square of SIZE x SIZE points. Each PE has SIZE / n columns. A
! transform along columns needs no communication. Between the two directions the matrix is transposed: each PE puts block
! q of its columns into the matrix of PE q, with a signal. The potential is the inverse transform of the charge's
! transform divided by the eigenvalues of the operator.
module transforms
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  real(real64), parameter :: pi = acos(-1.0_real64)

contains

  ! The transform of one column, whose length is a power of two; unscaled.
  recursive subroutine fft(x, direction)
    complex(real64), intent(inout) :: x(:)
    integer, intent(in) :: direction ! -1 forward, 1 backward
    complex(real64), allocatable :: even(:), odd(:)
    complex(real64) :: turned
    integer :: k, half
    half = size(x) / 2
    if (half == 0) return
    even = x(1::2)
    odd = x(2::2)
    call fft(even, direction)
    call fft(odd, direction)
    do k = 1, half
      turned = exp(cmplx(0.0_real64, direction * pi * (k - 1) / half, real64)) * odd(k)
      x(k) = even(k) + turned
      x(k + half) = even(k) - turned
    end do
  end subroutine fft

  subroutine fft_columns(x, direction)
    complex(real64), intent(inout) :: x(:, :)
    integer, intent(in) :: direction
    integer :: j
    do j = 1, size(x, 2)
      call fft(x(:, j), direction)
    end do
  end subroutine fft_columns

  ! Divides by the eigenvalues of the 5-point -laplacian, and by the scale of the two inverse transforms. `first` columns
  ! are before those of x.
  subroutine divide(x, first)
    complex(real64), intent(inout) :: x(:, :)
    integer, intent(in) :: first
    real(real64) :: wave(size(x, 1))
    integer :: i, j, n
    n = size(x, 1)
    wave = [(2 - 2 * cos(2 * pi * i / n), i=0, n - 1)]
    do j = 1, size(x, 2)
      x(:, j) = x(:, j) / ((wave + wave(first + j)) * real(n, real64)**2)
      if (first + j == 1) x(1, j) = 0 ! the mean of the potential, whose eigenvalue is 0
    end do
  end subroutine divide

  ! Point charges; their sum is 0, as a periodic square demands.
  function charges(n) result(charge)
    integer, intent(in) :: n
    complex(real64), allocatable :: charge(:, :)
    allocate (charge(n, n), source=(0.0_real64, 0.0_real64))
    charge(n / 4 + 1, n / 4 + 1) = 1
    charge(3 * n / 4 + 1, n / 4 + 1) = -1
    charge(n / 2 + 1, n / 2 + 1) = 2
    charge(n / 3 + 1, 3 * n / 4 + 1) = -1
    charge(7 * n / 8 + 1, 7 * n / 8 + 1) = -1
  end function charges
end module transforms

program potential
  use, intrinsic :: iso_fortran_env, only: real64, int64, error_unit
  use nvshmemrs
  use transforms
  implicit none
  real(real64), parameter :: limit = 1e-12_real64
  integer :: length, me, n, status
  character(20) :: argument
  logical :: ok
  length = 1024
  status = 0
  if (command_argument_count() > 0) then
    call get_command_argument(1, argument)
    read (argument, *, iostat=status) length
  end if
  call nvshmemrs_init()
  me = nvshmemrs_my_pe()
  n = nvshmemrs_n_pes()
  if (status /= 0 .or. length < 8 .or. popcnt(length) /= 1 .or. modulo(length, n) /= 0) then
    write (error_unit, '(a, i0)') 'usage: fft [SIZE]; SIZE is a power of two of at least 8 and a multiple of the PEs, ', n
    error stop 2
  end if
  call solve(length / n, ok)
  call nvshmemrs_finalize()
  if (.not. ok) error stop 1

contains

  ! Solves for the potential on all PEs, and checks it on PE 0. Collective.
  subroutine solve(block, ok)
    integer, intent(in) :: block ! columns of each PE
    logical, intent(out) :: ok
    type(nvshmemrs_complex_real64_array3) :: inbox(2) ! a PE may be one transposition ahead of another
    type(nvshmemrs_real64_array2) :: result
    type(nvshmemrs_signal), allocatable :: arrived(:)
    complex(real64), allocatable :: x(:, :)
    integer(int64) :: begin, end, rate
    integer :: pe
    call inbox(1)%allocate(block, block, n)
    call inbox(2)%allocate(block, block, n)
    call result%allocate(length, length)
    allocate (arrived(n))
    do pe = 1, n
      call arrived(pe)%allocate()
    end do
    x = charges(length)
    x = x(:, me * block + 1:(me + 1) * block)
    call nvshmemrs_barrier() ! all signals are 0

    call system_clock(begin, rate)
    call fft_columns(x, -1)
    call transpose_all(x, block, inbox(1), arrived, 1)
    call fft_columns(x, -1)
    call divide(x, me * block)
    call fft_columns(x, 1)
    call transpose_all(x, block, inbox(2), arrived, 2)
    call fft_columns(x, 1)
    call nvshmemrs_barrier()
    call system_clock(end)

    call nvshmemrs_put(result%values(:, me * block + 1:(me + 1) * block), real(x), 0)
    call nvshmemrs_barrier()
    ok = .true.
    if (me == 0) call report(result%values, real(end - begin, real64) / real(rate, real64), ok)
    call nvshmemrs_barrier()
  end subroutine solve

  ! Transposes the matrix whose columns are dealt over the PEs. Collective; `count` is the number of the transposition.
  subroutine transpose_all(x, block, inbox, arrived, count)
    complex(real64), intent(inout) :: x(:, :)
    integer, intent(in) :: block, count
    type(nvshmemrs_complex_real64_array3), intent(in) :: inbox
    type(nvshmemrs_signal), intent(in) :: arrived(:)
    integer :: i, q
    do i = 0, n - 1
      q = modulo(me + i, n)
      call nvshmemrs_put_signal(inbox%values(:, :, me + 1), transpose(x(q * block + 1:(q + 1) * block, :)), &
                                arrived(me + 1), int(count, int64), NVSHMEMRS_SIGNAL_SET, q)
    end do
    do q = 0, n - 1
      call arrived(q + 1)%wait(NVSHMEMRS_CMP_GE, int(count, int64))
      x(q * block + 1:(q + 1) * block, :) = inbox%values(:, :, q + 1)
    end do
  end subroutine transpose_all

  ! PE 0's output, and whether the potential is that of one process and solves the equation.
  subroutine report(u, seconds, ok)
    real(real64), intent(in) :: u(:, :), seconds
    logical, intent(out) :: ok
    complex(real64), allocatable :: alone(:, :)
    real(real64) :: worst, residual
    character(16) :: most, least
    allocate (alone, source=charges(length))
    residual = maxval(abs(4 * u - cshift(u, 1, 1) - cshift(u, -1, 1) - cshift(u, 1, 2) - cshift(u, -1, 2) - real(alone)))
    call fft_columns(alone, -1)
    alone = transpose(alone)
    call fft_columns(alone, -1)
    call divide(alone, 0)
    call fft_columns(alone, 1)
    alone = transpose(alone)
    call fft_columns(alone, 1)
    worst = maxval(abs(u - real(alone))) / maxval(abs(u))
    ok = worst <= limit .and. residual <= limit ! not so with a NaN
    write (most, '(f16.9)') maxval(u)
    write (least, '(f16.9)') minval(u)
    print '(3(i0, a))', length, ' x ', length, ' points on ', n, ' PEs'
    print '(a, f0.4, a)', 'time: ', seconds, ' s'
    print '(4a)', 'result: largest potential ', trim(adjustl(most)), ', smallest ', trim(adjustl(least))
    print '(a, es7.1, a, es7.1, a, es7.1, 2a)', 'check: relative difference ', worst, ', residual ', residual, ' (limit ', &
      limit, ')', trim(merge('        ', ': FAILED', ok))
  end subroutine report
end program potential
