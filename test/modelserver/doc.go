// SPDX-License-Identifier: Apache-2.0

// Modelserver is an OpenAI-compatible Chat Completions server that plays written
// scripts instead of running a model. The package script documents their format.
//
//	modelserver --listen :8080 --scripts DIR [--require-key KEY]
//
// It serves
//   - POST /v1/chat/completions: the script is chosen by the model's name,
//     NAME or scripted/NAME; the turn by the conversation itself. stream and
//     stream_options.include_usage are honoured.
//   - GET /v1/models: the scripts.
//   - GET /healthz: 200.
//   - GET /log: the last 10,000 completion requests as a JSON list, oldest
//     first, each with what it was answered. kind tells the turns of a
//     conversation from the requests for a summary, a partial result or a hint,
//     which are no turns of the script. seq counts on over a reset. An
//     entry stands there before the first byte of its answer is sent, so that
//     who counts model calls never counts too few.
//   - POST /effects?id=ID: counts that a tool did something, and answers with how
//     often it did it by now. GET /effects?prefix=P: what was counted, as JSON.
//     Neither needs a key, and no fault of a script touches them.
//   - POST /reset: empties the log and the effects, and forgets which faults were
//     used up.
//
// The same request gets the same bytes, on every start, until a fault with
// `times` is used up; that count is all the state there is. Like the real
// service it refuses a conversation in which tool calls and tool messages do not
// belong together, because a client that makes one would fail only there.
package main
