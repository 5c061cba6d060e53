// SPDX-License-Identifier: Apache-2.0

package scripts

import _ "embed"

// SearXNG is the program of a search provider, in Python. Its argument is the port.
//
//go:embed searxng.py
var SearXNG string
