// SPDX-License-Identifier: Apache-2.0

package seccomp

var native = amd64
