// SPDX-License-Identifier: Apache-2.0

package toolapi

// PathRepository is for a git repository of the initial files. A manager requests one when the files have been put and before the first call,
// and only if the run has a tool that can use git: without the request there is none.
const PathRepository = "/v1/repository"

// FirstCommit is the message of the commit. The prompt names it before it is known whether there is one.
const FirstCommit = "The files that were given"

// Repository reports whether the initial files are the first commit of a repository in the workspace. If git is missing or anything
// prevents it, there is none, which is no error.
type Repository struct {
	Made bool `json:"made"`
}
