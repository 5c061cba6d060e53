// The evaluation is a module of its own: what it needs never reaches the product, and the programs below tasks are data.
module motorcortex.dev/motorcortex/test/eval

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	go.yaml.in/yaml/v3 v3.0.5
)

// The files of the tasks have planted bugs, and the checks of their own.
ignore ./tasks
