// SPDX-License-Identifier: Apache-2.0

package seccomp

var native = arm64
