// SPDX-License-Identifier: Apache-2.0

// Package scripts holds what the scripted model of the end-to-end tests says. The format is that of
// test/modelserver/script. A run plays the script that its model is named after: scripted/ask plays ask.yaml.
package scripts

import "embed"

// FS has every script.
//
//go:embed *.yaml
var FS embed.FS
