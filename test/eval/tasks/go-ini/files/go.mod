module example.org/ini

go 1.21
