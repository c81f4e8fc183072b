! Relaxation on a grid, with loops and with arrays: laplace NX NY STEPS
module grid
  implicit none
contains
  subroutine relax(u, v, nx, ny)
    integer, intent(in) :: nx, ny
    real(8), intent(inout) :: u(nx, ny), v(nx, ny)
    integer :: i, j
    do j = 2, ny - 1
      do i = 2, nx - 1
        v(i, j) = 0.25d0 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1))
      end do
    end do
    u(2:nx-1, 2:ny-1) = v(2:nx-1, 2:ny-1)
  end subroutine relax
end module grid

program lap
  use grid
  implicit none
  integer :: nx, ny, steps, s
  character(len=32) :: word
  real(8), allocatable :: u(:, :), v(:, :)
  call get_command_argument(1, word)
  read (word, *) nx
  call get_command_argument(2, word)
  read (word, *) ny
  call get_command_argument(3, word)
  read (word, *) steps
  allocate (u(nx, ny), v(nx, ny))
  u = 0
  v = 1
  u(1, :) = 1
  do s = 1, steps
    call relax(u, v, nx, ny)
    if (mod(s, 4) == 0) print *, sum(u)
  end do
end program lap
