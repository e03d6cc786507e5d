// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/klog/v2"
)

// Warn logs a warning. If klog itself writes to its output, the line has the severity WARNING.
// Otherwise it has the key severity with the value "warning", because logr has no such level. The
// line names the file of the function that is depth calls above the caller, as does WithCallDepth.
func Warn(logger klog.Logger, depth int, message string, keysAndValues ...any) {
	if isKlog(logger) {
		klog.WarningDepth(depth+1, klogText(message, keysAndValues))
		return
	}
	logger.WithCallDepth(depth+1).Info(message, append([]any{"severity", "warning"}, keysAndValues...)...)
}

// isKlog reports whether klog formats and writes the lines of a logger, to which nothing was added.
func isKlog(logger klog.Logger) bool {
	return !hasBackend() && logger.GetSink() == klog.Background().GetSink()
}

// hasBackend reports whether klog passes its lines to a logger, of klog.SetLogger, which does not
// learn the severity of a line. klog has no function for that. If a version of klog keeps its logger
// elsewhere, hasBackend returns true.
func hasBackend() bool {
	state := reflect.Indirect(reflect.ValueOf(klog.CaptureState()))
	if state.Kind() != reflect.Struct {
		return true
	}
	backend := state.FieldByName("logger")
	return backend.Kind() != reflect.Pointer || !backend.IsNil()
}

// klogText returns the text of a line as klog formats it.
func klogText(message string, keysAndValues []any) string {
	var text strings.Builder
	text.WriteString(strconv.Quote(message))
	for pair := range slices.Chunk(keysAndValues, 2) {
		fmt.Fprintf(&text, " %v=%s", pair[0], klogValue(pair[1]))
	}
	return text.String()
}

// klogValue returns the text of a value: quoted for a text, in JSON for all others.
func klogValue(value any) string {
	switch v := value.(type) {
	case string:
		return strconv.Quote(v)
	case error, fmt.Stringer:
		return strconv.Quote(fmt.Sprint(v))
	}
	if text, err := json.Marshal(value); err == nil {
		return string(text)
	}
	return strconv.Quote(fmt.Sprint(value))
}
