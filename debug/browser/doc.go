// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package browser has the tests of package debug in a real browser, and takes its pictures. It is a
// module of its own because of the driver.
//
// The tests need Chromium, which Debian has as the package chromium. Without it they are skipped,
// but fail where KINFORMER_CI is set, which .ci/run does.
package browser
