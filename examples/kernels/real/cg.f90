! Poisson's equation on a rectangle by conjugate gradients, one process: cg NX NY STEPS
!
! The solution is known. Checked: the residual is what the iteration says, and the error in the energy norm is
! within the bound that the eigenvalues of the equation give for so many steps.
program cg
  implicit none
  integer, parameter :: real64 = kind(1d0), int64 = selected_int_kind(18)
  real(real64), parameter :: pi = acos(-1d0)
  real(real64), allocatable :: x(:, :), b(:, :), r(:, :), p(:, :), ap(:, :), known(:, :)
  real(real64) :: old, new, alpha, first, last, bound, condition, off
  integer(int64) :: begun, ended, rate
  integer :: nx, ny, steps, step, i, j
  logical :: right
  character(len=32) :: seconds

  nx = argument(1)
  ny = argument(2)
  steps = argument(3)
  call system_clock(begun, rate)
  allocate (x(0:nx + 1, 0:ny + 1), p(0:nx + 1, 0:ny + 1), known(0:nx + 1, 0:ny + 1), b(nx, ny), r(nx, ny), ap(nx, ny))
  x = 0
  p = 0
  known = 0
  do j = 1, ny
    do i = 1, nx
      known(i, j) = sin(12.9898d0*i + 78.233d0*j)  ! rough: it has a part of all eigenvectors
    end do
  end do
  call apply(known, b)
  first = sqrt(sum(known(1:nx, 1:ny)*b))
  r = b
  p(1:nx, 1:ny) = r
  old = sum(r*r)
  do step = 1, steps
    if (old <= 1d-28*sum(b*b)) exit  ! as near as rounding allows
    call apply(p, ap)
    alpha = old/sum(p(1:nx, 1:ny)*ap)
    x = x + alpha*p
    r = r - alpha*ap
    new = sum(r*r)
    p(1:nx, 1:ny) = r + new/old*p(1:nx, 1:ny)
    old = new
  end do
  call apply(x, ap)
  off = sqrt(sum((b - ap - r)**2)/sum(b*b))
  call apply(known - x, ap)
  last = sqrt(max(0d0, sum((known(1:nx, 1:ny) - x(1:nx, 1:ny))*ap)))
  condition = (2 + cos(pi/(nx + 1)) + cos(pi/(ny + 1)))/(2 - cos(pi/(nx + 1)) - cos(pi/(ny + 1)))
  bound = 2*((sqrt(condition) - 1)/(sqrt(condition) + 1))**(step - 1)
  right = off < 1d-10 .and. last <= max(bound, 1d-10)*first
  call system_clock(ended)
  write (seconds, '(f0.6)') real(ended - begun, real64)/real(rate, real64)
  if (seconds(1:1) == '.') seconds = '0'//seconds  ! some compilers leave the zero out
  print '(a,i0,a,i0,a,i0,3a,es7.1e2,3a)', 'cg ', nx, ' x ', ny, ', ', steps, ' steps on 1: ', &
    trim(merge('right', 'WRONG', right)), ', off by ', off, ', ', trim(seconds), ' s'
  if (.not. right) stop 1

contains

  integer function argument(place)
    integer, intent(in) :: place
    character(len=32) :: word
    integer :: status
    call get_command_argument(place, word)
    read (word, *, iostat=status) argument
    if (status /= 0) argument = 0
    if (argument < 1 .or. argument > 1000000) then
      write (0, '(a)') 'cg: give NX NY STEPS, each 1 to 1000000'
      call exit(2)
    end if
  end function argument

  ! Sets out to four times each cell less its four neighbours; the border is zero.
  subroutine apply(u, out)
    real(real64), intent(in) :: u(0:, 0:)
    real(real64), intent(out) :: out(:, :)
    integer :: i, j
    do j = 1, ny
      do i = 1, nx
        out(i, j) = 4*u(i, j) - u(i - 1, j) - u(i + 1, j) - u(i, j - 1) - u(i, j + 1)
      end do
    end do
  end subroutine apply
end program cg
