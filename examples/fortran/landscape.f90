! Hillslope diffusion over a real elevation model, on any number of PEs: the Fortran form of
! examples/python/landscape.py, with the same scheme, names and order of arithmetic, so that both print the same
! fingerprint. The map comes from a file that `landscape.py --export FILE` writes.
!
!     nvshmemrs-run -n 4 -- ./landscape FILE [STEPS]
!     ./landscape FILE [STEPS]                        (one PE, no launcher)
!
! The rows of the map are dealt over the PEs. A row of the map is a column of Fortran's arrays, so that it is contiguous.
! Each PE keeps its block and one halo row above and below it on the symmetric heap, twice: step s reads one grid and
! writes the other one. After step s a PE puts its first and last row into the halo rows of its neighbours, together with
! a signal that carries s. Before step s it waits until the signals of both neighbours have reached s - 1.
!
! examples/c/landscape.c says why two grids are enough, and why the steps work on private memory.
module diffusion
  use, intrinsic :: iso_fortran_env, only: real64, int64
  implicit none
  real(real64), parameter :: kappa = 0.01_real64   ! m2 per year
  real(real64), parameter :: fraction = 0.05_real64 ! of the longest stable time step: small, for accuracy in time

  ! An elevation model: column 1 is the northernmost row; elevations and spacings are in metres.
  type :: dem
    integer :: rows = 0, cols = 0
    real(real64) :: dx = 0, dy = 0
    real(real64), allocatable :: z(:, :)
  end type dem

contains

  ! The first row, counted from 0, and the number of rows of a PE; the first PEs take one row more if need be.
  pure subroutine deal(rows, n_pes, pe, first, count)
    integer, intent(in) :: rows, n_pes, pe
    integer, intent(out) :: first, count
    integer :: extra
    extra = modulo(rows, n_pes)
    first = pe * (rows / n_pes) + min(pe, extra)
    count = rows / n_pes
    if (pe < extra) count = count + 1
  end subroutine deal

  ! The time step in years, and kappa * dt / dx**2 and kappa * dt / dy**2.
  pure subroutine coefficients(dx, dy, dt, cx, cy)
    real(real64), intent(in) :: dx, dy
    real(real64), intent(out) :: dt, cx, cy
    dt = fraction / (2 * kappa * (1 / (dx * dx) + 1 / (dy * dy)))
    cx = kappa * dt / (dx * dx)
    cy = kappa * dt / (dy * dy)
  end subroutine coefficients

  ! One step: all rows and columns of `new` but the outermost ones, from `z`. Gives the largest |change|.
  pure subroutine diffuse(z, new, cx, cy, largest)
    real(real64), intent(in) :: z(:, :), cx, cy
    real(real64), intent(inout) :: new(:, :)
    real(real64), intent(out) :: largest
    real(real64) :: change
    integer :: i, j
    largest = 0
    do i = 2, size(z, 2) - 1
      do j = 2, size(z, 1) - 1
        change = cx * ((z(j - 1, i) + z(j + 1, i)) - 2 * z(j, i)) + cy * ((z(j, i - 1) + z(j, i + 1)) - 2 * z(j, i))
        new(j, i) = z(j, i) + change
        largest = max(largest, abs(change))
      end do
    end do
  end subroutine diffuse

  ! The same diffusion in one process, written independently of `diffuse`: no halo, indices stop at the edge.
  function single_process(map, steps, cx, cy) result(z)
    type(dem), intent(in) :: map
    integer, intent(in) :: steps
    real(real64), intent(in) :: cx, cy
    real(real64), allocatable :: z(:, :), next(:, :)
    integer :: s, i, j, west, east, north, south
    z = map%z
    allocate (next(map%cols, map%rows))
    do s = 1, steps
      do i = 1, map%rows
        north = max(i - 1, 1)
        south = min(i + 1, map%rows)
        do j = 1, map%cols
          west = max(j - 1, 1)
          east = min(j + 1, map%cols)
          next(j, i) = z(j, i) + (cx * ((z(west, i) + z(east, i)) - 2 * z(j, i)) + &
                                  cy * ((z(j, north) + z(j, south)) - 2 * z(j, i)))
        end do
      end do
      z = next
    end do
  end function single_process

  ! The sum of the elevations' bit patterns modulo 2**64, in hexadecimal: equal fields have equal fingerprints. It is
  ! taken in halves, because Fortran's integers must not overflow.
  function fingerprint(z) result(text)
    real(real64), intent(in) :: z(:, :)
    character(16) :: text
    integer(int64), parameter :: half = 4294967295_int64
    integer(int64) :: bits, low, high
    integer :: i, j
    low = 0
    high = 0
    do i = 1, size(z, 2)
      do j = 1, size(z, 1)
        bits = transfer(z(j, i), bits)
        low = low + iand(bits, half)
        high = high + shiftr(bits, 32)
      end do
    end do
    high = iand(high + shiftr(low, 32), half)
    write (text, '(2z8.8)') high, iand(low, half)
    do i = 1, len(text)
      if (text(i:i) >= 'A') text(i:i) = achar(iachar(text(i:i)) + 32)
    end do
  end function fingerprint

  ! Reads what `landscape.py --export` wrote. A map that cannot be read has no rows.
  subroutine load(path, map)
    use, intrinsic :: iso_fortran_env, only: error_unit
    character(*), intent(in) :: path
    type(dem), intent(out) :: map
    integer(int64) :: rows, cols
    integer :: unit, status
    character(200) :: message
    open (newunit=unit, file=path, access='stream', form='unformatted', action='read', iostat=status, iomsg=message)
    if (status == 0) then
      read (unit, iostat=status, iomsg=message) rows, cols, map%dx, map%dy
      if (status == 0 .and. (min(rows, cols) < 1 .or. max(rows, cols) > 2**20 .or. .not. (min(map%dx, map%dy) > 0))) then
        status = 1
        message = 'it is not a file of `landscape.py --export`'
      end if
      if (status == 0) then
        allocate (map%z(cols, rows))
        read (unit, iostat=status, iomsg=message) map%z
      end if
      close (unit)
    end if
    if (status == 0) then
      map%rows = int(rows)
      map%cols = int(cols)
    else
      write (error_unit, '(4a)') 'landscape: ', path, ': ', trim(message)
    end if
  end subroutine load
end module diffusion

program landscape
  use, intrinsic :: iso_fortran_env, only: real64, int64, error_unit, output_unit
  use nvshmemrs
  use diffusion
  implicit none
  integer, parameter :: columns = 6, residual_every = 50
  real(real64), parameter :: limit = 1e-12_real64 ! m; largest difference from the single-process run
  integer :: me, n, steps, status
  logical :: ok
  character(512) :: path

  call arguments()
  call nvshmemrs_init()
  me = nvshmemrs_my_pe()
  n = nvshmemrs_n_pes()
  call run(ok)
  call nvshmemrs_finalize()
  if (.not. ok) stop 1, quiet=.true.

contains

  subroutine arguments()
    character(32) :: text
    steps = 2000
    status = 0
    if (command_argument_count() == 2) then
      call get_command_argument(2, text)
      read (text, *, iostat=status) steps
    end if
    if (command_argument_count() < 1 .or. command_argument_count() > 2 .or. status /= 0 .or. steps < 1) then
      write (error_unit, '(a)') 'usage: landscape FILE [STEPS]', &
        'FILE comes from `landscape.py --export FILE`; STEPS is at least 1 (2000)'
      stop 2, quiet=.true.
    end if
    call get_command_argument(1, path)
  end subroutine arguments

  real(real64) function now()
    integer(int64) :: ticks, rate
    call system_clock(ticks, rate)
    now = real(ticks, real64) / real(rate, real64)
  end function now

  subroutine run(ok)
    logical, intent(out) :: ok
    type(nvshmemrs_real64_array1) :: header
    type(nvshmemrs_real64_array2) :: grid(2), table
    type(dem) :: map
    real(real64) :: sizes(4), dt, cx, cy, residual, did(columns)
    integer :: rows, width, pe, first, count, largest

    ! PE 0 reads the map and tells the others its size; 0 rows mean that it could not.
    call header%allocate(4)
    if (me == 0) then
      call load(trim(path), map)
      call nvshmemrs_put(header%values, [real(map%rows, real64), real(map%cols, real64), map%dx, map%dy], 0)
      call nvshmemrs_quiet()
    end if
    call nvshmemrs_broadcast(header%values, header%values, 0)
    call nvshmemrs_get(sizes, header%values, me)
    rows = nint(sizes(1))
    width = nint(sizes(2)) + 2
    ok = rows > 0 .and. n <= rows
    if (.not. ok) then
      if (me == 0 .and. rows > 0) write (error_unit, '(3(a, i0), a)') 'landscape: ', n, ' PEs, but the map has only ', rows, &
        ' rows: start at most ', rows, ' PEs'
      return
    end if

    ! PE 0 deals the blocks, halo rows included.
    call deal(rows, n, 0, first, largest)
    call grid(1)%allocate(width, largest + 2)
    call grid(2)%allocate(width, largest + 2)
    call coefficients(sizes(3), sizes(4), dt, cx, cy)
    if (me == 0) then
      print '(2a, i0, a, i0, 2(a, f0.1), a, i0, a)', trim(path), ': ', rows, ' x ', width - 2, ' cells of ', sizes(3), &
        ' m x ', sizes(4), ' m on ', n, ' PEs'
      print '(a, f4.2, a, i0, a, i0, a, f5.1, a)', 'kappa ', kappa, ' m2/yr, ', steps, ' steps of ', nint(dt), ' years = ', &
        steps * dt / 1e6_real64, ' million years'
      flush (output_unit)
      associate (whole => padded(map))
        do pe = 0, n - 1
          call deal(rows, n, pe, first, count)
          call nvshmemrs_put(grid(1)%values(:, 1:count + 2), whole(:, first + 1:first + count + 2), pe)
        end do
      end associate
    end if
    call simulate(grid, rows, width, cx, cy, residual, did)

    ! Each PE puts its line into PE 0's table; PE 0 gets the blocks.
    call table%allocate(columns, n)
    call nvshmemrs_put(table%values(:, me + 1), did, 0)
    call nvshmemrs_barrier()
    if (me == 0) call report(grid(modulo(steps, 2) + 1), table, map, cx, cy, residual, ok)
    call nvshmemrs_barrier()
  end subroutine run

  ! The map, one cell wider on every side; the cells of the rim equal their neighbours.
  function padded(map) result(whole)
    type(dem), intent(in) :: map
    real(real64) :: whole(map%cols + 2, map%rows + 2)
    whole(2:map%cols + 1, 2:map%rows + 1) = map%z
    whole(:, 1) = whole(:, 2)
    whole(:, map%rows + 2) = whole(:, map%rows + 1)
    whole(1, :) = whole(2, :)
    whole(map%cols + 2, :) = whole(map%cols + 1, :)
  end function padded

  ! Runs all steps on this PE's block of a map of `rows` rows. Collective over all PEs. Gives the last residual, and in
  ! `did` what this PE did.
  subroutine simulate(grid, rows, width, cx, cy, last, did)
    type(nvshmemrs_real64_array2), intent(inout) :: grid(2)
    integer, intent(in) :: rows, width
    real(real64), intent(in) :: cx, cy
    real(real64), intent(out) :: last, did(columns)
    type(nvshmemrs_signal) :: from_north, from_south
    type(nvshmemrs_real64_array1) :: residual
    real(real64), allocatable :: field(:, :, :)
    real(real64) :: t(0:4), largest(1), computing, sending, waiting, halo_bytes
    integer :: first, count, of_north, bottom, step, at, new, tenths
    logical :: compare
    call deal(rows, n, me, first, count)
    of_north = 0
    if (me > 0) call deal(rows, n, me - 1, first, of_north)
    bottom = count + 2 ! this PE's lower halo row; the upper one is row 1
    call from_north%allocate()
    call from_south%allocate()
    call residual%allocate(1)
    call nvshmemrs_barrier() ! blocks are dealt and signals are 0 everywhere

    allocate (field(width, count + 2, 2), source=0.0_real64)
    call nvshmemrs_get(field(:, :, 1), grid(1)%values(:, 1:count + 2), me)
    last = 0
    computing = 0
    sending = 0
    waiting = 0
    halo_bytes = 0
    tenths = 0
    do step = 1, steps
      at = modulo(step - 1, 2) + 1
      new = modulo(step, 2) + 1
      compare = modulo(step, residual_every) == 0 .or. step == steps
      t(0) = now()
      if (me > 0) call from_north%wait(NVSHMEMRS_CMP_GE, int(step - 1, int64))
      if (me < n - 1) call from_south%wait(NVSHMEMRS_CMP_GE, int(step - 1, int64))

      t(1) = now()
      if (me > 0) call nvshmemrs_get(field(:, 1, at), grid(at)%values(:, 1), me)
      if (me < n - 1) call nvshmemrs_get(field(:, bottom, at), grid(at)%values(:, bottom), me)
      call diffuse(field(:, :, at), field(:, :, new), cx, cy, largest(1))
      field(1, 2:bottom - 1, new) = field(2, 2:bottom - 1, new) ! zero flux to the west and east
      field(width, 2:bottom - 1, new) = field(width - 1, 2:bottom - 1, new)
      if (me == 0) field(:, 1, new) = field(:, 2, new) ! zero flux to the north
      if (me == n - 1) field(:, bottom, new) = field(:, bottom - 1, new) ! zero flux to the south

      t(2) = now()
      if (me > 0) then
        call nvshmemrs_put_signal(grid(new)%values(:, of_north + 2), field(:, 2, new), from_south, int(step, int64), &
                                  NVSHMEMRS_SIGNAL_SET, me - 1)
        halo_bytes = halo_bytes + 8 * width
      end if
      if (me < n - 1) then
        call nvshmemrs_put_signal(grid(new)%values(:, 1), field(:, bottom - 1, new), from_north, int(step, int64), &
                                  NVSHMEMRS_SIGNAL_SET, me + 1)
        halo_bytes = halo_bytes + 8 * width
      end if

      t(3) = now()
      if (compare) then
        call nvshmemrs_put(residual%values, largest, me)
        call nvshmemrs_quiet()
        call nvshmemrs_reduce(residual%values, residual%values, NVSHMEMRS_OP_MAX)
        call nvshmemrs_get(largest, residual%values, me)
        last = largest(1)
        if (me == 0 .and. int(step, int64) * 10 / steps > tenths) then
          tenths = int(int(step, int64) * 10 / steps)
          write (error_unit, '(a, i0, a, i0, a, es9.3, a)') 'step ', step, ' of ', steps, ', residual ', last, ' m'
        end if
      end if
      t(4) = now()
      waiting = waiting + (t(1) - t(0)) + (t(4) - t(3))
      computing = computing + (t(2) - t(1))
      sending = sending + (t(3) - t(2))
    end do

    ! The block goes back, without the halo rows: PE 0 gets it from there.
    new = modulo(steps, 2) + 1
    call nvshmemrs_put(grid(new)%values(:, 2:bottom - 1), field(:, 2:bottom - 1, new), me)
    call nvshmemrs_quiet()
    did = [real(count, real64), real(steps, real64), halo_bytes, computing, sending, waiting]
  end subroutine simulate

  ! PE 0's output, and whether the result is that of one process.
  subroutine report(grid, table, map, cx, cy, residual, ok)
    type(nvshmemrs_real64_array2), intent(in) :: grid, table
    type(dem), intent(in) :: map
    real(real64), intent(in) :: cx, cy, residual
    logical, intent(out) :: ok
    real(real64), allocatable :: after(:, :), alone(:, :)
    real(real64) :: line(columns), worst
    integer :: pe, first, count
    allocate (after(map%cols, map%rows))
    print '(a4, a7, a8, 4a13)', 'PE', 'rows', 'steps', 'halo bytes', 'computing s', 'sending s', 'waiting s'
    do pe = 0, n - 1
      call nvshmemrs_get(line, table%values(:, pe + 1), 0)
      print '(i4, i7, i8, i13, 3f13.3)', pe, nint(line(1:2)), nint(line(3), int64), line(4:)
      ! The block without its halo and its rim: a section with gaps.
      call deal(map%rows, n, pe, first, count)
      call nvshmemrs_get(after(:, first + 1:first + count), grid%values(2:map%cols + 1, 2:count + 1), pe)
    end do
    print '(a, es12.6, a)', 'residual: ', residual, ' m in the last step'
    print '(2(a, f0.6), a)', 'mean elevation: ', sum(map%z) / size(map%z), ' m before, ', sum(after) / size(after), ' m after'
    print '(2a)', 'fingerprint: ', fingerprint(after)
    alone = single_process(map, steps, cx, cy)
    worst = maxval(abs(after - alone))
    ok = all(abs(after - alone) <= limit) ! not so with a NaN
    print '(a, es9.3, a, es7.1, a)', 'check: max |difference| = ', worst, ' (limit ', limit, ')' // trim(merge('        ', &
      ': FAILED', ok))
  end subroutine report
end program landscape
