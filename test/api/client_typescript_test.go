// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"os"
	"path/filepath"
	"testing"
)

// exampleTypeScript is the example of the TypeScript client.
func exampleTypeScript(t *testing.T) exampleProgram {
	t.Helper()
	example := filepath.Join("..", "..", "dist", "clients", "typescript", "build", "examples", "ask.js")
	if _, err := os.Stat(example); err != nil {
		t.Fatalf("the TypeScript client is not built (hack/clients.sh build does it): %v", err)
	}
	return exampleProgram{
		command:  []string{"node", example},
		question: `"Which colour?"`, call: `"{\"command\":\"git push <\u00e9>\"}"`, summary: `"There are 3."`,
	}
}

func TestTheExampleOfTheTypeScriptClient(t *testing.T) {
	t.Parallel()
	exampleTypeScript(t).converses(t)
}

func TestTheExampleOfTheTypeScriptClientIsRefused(t *testing.T) {
	t.Parallel()
	exampleTypeScript(t).isRefused(t)
}
