// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package browser tests package debug in a real browser, and takes the pictures of its pages. It is
// a module of its own because of its dependency on the browser's driver.
//
// The tests need Chromium (Debian's package chromium). Without it they are skipped, or fail if
// KINFORMER_CI is set, as .ci/run does.
package browser
