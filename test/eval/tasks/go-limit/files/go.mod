module example.org/limit

go 1.21
