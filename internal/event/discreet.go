// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"
)

// Told returns an error with a text of its own, and the cause that it wraps.
func Told(text string, cause error) error { return &told{text, cause} }

type told struct {
	text  string
	cause error
}

func (e *told) Error() string { return e.text }

func (e *told) Unwrap() error { return e.cause }

// Discreet returns err, of a store, a queue or a function of the user's, with a text that may be
// logged: a KeyError quotes its object.
func Discreet(err error) error { return retold(err, withoutKeyed) }

// DiscreetAnswer returns err, of a ListerWatcher, with a text that may be logged: decoders quote
// what they cannot read, and clients the answer that is none.
func DiscreetAnswer(err error) error { return retold(err, withoutAnswer) }

// retold returns err with the text that tell makes of its own, or err itself if that is the same.
func retold(err error, tell func(err error, text string) string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	told := tell(err, text)
	if told == text {
		return err
	}
	return Told(strings.Clone(told), err) // and not the memory that it is cut from
}

// eachError calls visit for err and for all that it wraps, outermost first.
func eachError(err error, visit func(error)) {
	if err == nil {
		return
	}
	visit(err)
	for _, cause := range causesOf(err) {
		eachError(cause, visit)
	}
}

// causesOf returns what err wraps.
func causesOf(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			return []error{cause}
		}
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	}
	return nil
}

// withoutKeyed is text, the one of err, with the types of objects in place of those that a KeyError
// quotes.
func withoutKeyed(err error, text string) string {
	type quote struct{ old, new string }
	var quotes []quote
	eachError(err, func(e error) {
		if key, ok := e.(clientgo.KeyError); ok {
			quotes = append(quotes, quote{key.Error(), fmt.Sprintf("couldn't create key for an object of type %T: %v", key.Obj, key.Err)})
		}
	})
	slices.SortFunc(quotes, func(a, b quote) int { return len(b.old) - len(a.old) }) // one may be part of another
	for _, q := range quotes {
		text = strings.ReplaceAll(text, q.old, q.new)
	}
	return text
}

// withoutAnswer is text, the one of err, without what it quotes of an answer that could not be
// understood. What a server says of its own accord, in a Status, stays, and so does what a
// transport says of a request that got no answer.
func withoutAnswer(err error, text string) string {
	text = withoutUntyped(withoutKeyed(err, text))
	var status apierrors.APIStatus
	var transport *url.Error
	switch {
	case errors.As(err, &status):
		text = replaced(text, status.Status().Message, withoutBody(status.Status()))
	case !errors.As(err, &transport) || transport.Op == "parse":
		text = withoutQuotes(text)
	case strings.Contains(transport.Err.Error(), "malformed"): // an answer that is not HTTP
		text = replaced(text, transport.Err.Error(), withoutQuotes(transport.Err.Error()))
	}
	return Shortened(text)
}

func replaced(text, old, new string) string {
	if old == "" {
		return text
	}
	return strings.ReplaceAll(text, old, new)
}

// withoutBody is the message of a Status. One that a client made, of an answer that is none, quotes
// that answer.
func withoutBody(s metav1.Status) string {
	body, instead := bodyIn(s)
	const nothing = "unknown" // is said where there was no text
	if body == "" || body == nothing || body == instead {
		return s.Message
	}
	if rest, begins := strings.CutPrefix(s.Message, body); begins {
		return instead + rest
	}
	message := strings.Replace(s.Message, "("+strconv.Quote(body)+")", "("+instead+")", 1)
	if message == s.Message && (strings.Contains(message, body) || strings.Contains(message, strconv.Quote(body))) {
		return fmt.Sprintf("status %d (%s): %s", s.Code, s.Reason, instead)
	}
	return message
}

// CauseWatchDecoding is client-go's name, which has no constant there, of the cause that its reader
// of a watch gives: the error of its connection, or of its decoder.
const CauseWatchDecoding metav1.CauseType = "ClientWatchDecoding"

// bodyIn returns what a Status that a client made quotes, and what may be said of it.
func bodyIn(s metav1.Status) (body, instead string) {
	if s.Details == nil {
		return "", ""
	}
	for _, cause := range s.Details.Causes {
		switch cause.Type {
		case CauseWatchDecoding:
			return cause.Message, withoutQuotes(withoutUntyped(cause.Message))
		case metav1.CauseTypeUnexpectedServerResponse:
			body, instead = cause.Message, fmt.Sprintf("%d bytes of text that are not shown", len(cause.Message))
		}
	}
	return body, instead
}

var (
	// number matches the number that was found in place of something else.
	number = regexp.MustCompile(`\bnumber -?[0-9][-+.0-9eE]*`)
	// aboutTypes matches errors, at the end of a text, that quote nothing but kinds and versions,
	// which may be shown.
	aboutTypes = regexp.MustCompile(strings.ReplaceAll(`(no kind Q is registered for (version|the internal version of group) Q in scheme Q|`+
		`no version Q has been registered in scheme Q|no matches for kind Q in version Q)$`, "Q", `"([^"\\]|\\.){0,200}"`))
)

// withoutQuotes is text without all that is between its first and its last quotation mark, so that
// it does not matter what is quoted how, and without numbers. Of a very long one only the beginning
// counts.
func withoutQuotes(text string) string {
	const most = 16 << 10 // to be looked at: errors may have 100 MB
	text, cut := text[:min(len(text), most)], len(text) > most
	types := ""
	if at := aboutTypes.FindStringIndex(text); at != nil {
		text, types = text[:at[0]], text[at[0]:]
	}
	if first := firstQuote(text); first >= 0 {
		rest := ""
		if last := strings.LastIndexAny(text, quotationMarks); last > first && !cut {
			rest = text[last+1:]
		}
		text = text[:first] + `"..."` + rest
	}
	return number.ReplaceAllString(text, "number ...") + types
}

const quotationMarks = "\"`'"

// firstQuote is where text begins to quote; -1: nowhere. An apostrophe within a word is none, and a
// single character is not worth it: decoders name the one at which they gave up.
func firstQuote(text string) int {
	for at := 0; at < len(text); at++ {
		switch c := text[at]; {
		case c == '"' || c == '`':
			return at
		case c != '\'' || at > 0 && strings.IndexByte(" (:=,[", text[at-1]) < 0:
			continue
		}
		_, _, rest, err := strconv.UnquoteChar(text[at+1:], '\'')
		if err != nil || !strings.HasPrefix(rest, "'") {
			return at
		}
		at = len(text) - len(rest)
	}
	return -1
}

// missingMark is where the text of apimachinery's error about an object without kind or version
// goes on with the object.
const missingMark = " is missing in '"

// withoutUntyped is text without an object that has no kind or version.
func withoutUntyped(text string) string {
	before, _, quotes := strings.Cut(text, missingMark)
	if !quotes {
		return text
	}
	return before + " is missing, in an object that is not shown"
}

// maxErrorText bounds the text of an error that comes from outside. Those of servers and clients
// have 100 to 400 bytes.
const maxErrorText = 1 << 10

// Shortened is the beginning of a text that is too long.
func Shortened[S ~string](text S) S {
	if len(text) <= maxErrorText {
		return text
	}
	beginning := strings.ToValidUTF8(string(text[:maxErrorText]), "")
	return S(fmt.Sprintf("%s... (%d bytes more)", beginning, len(text)-maxErrorText))
}

// maxKept is how large an error may be that is held until the next one comes, perhaps for as long
// as the process runs. Those of servers and clients have less than a tenth of that; one that quotes
// an answer may have 100 MB.
const maxKept = 4 << 10

// Kept returns what of err may be held for long: err itself, or an error with the same text, if
// that is not too long, that wraps what err wraps but for what holds an object or is too large.
// errors.Is and errors.As find all the rest, errors of a server and KeyErrors also where they had
// to be cut.
func Kept(err error) error {
	if err == nil {
		return nil
	}
	if rest, cut := keep(err); cut {
		return Told(strings.Clone(Shortened(err.Error())), rest)
	}
	return err
}

// keep returns err, or what is left of it if something had to be cut.
func keep(err error) (rest error, cut bool) {
	switch e := err.(type) {
	case clientgo.KeyError:
		return keyErrorWithout(e), true
	case *apierrors.StatusError:
		if e.ErrStatus.Size() <= maxKept {
			return err, false
		}
		return statusWithout(e), true
	}
	large := len(err.Error()) > maxKept
	switch {
	case large && runtime.IsMissingKind(err):
		return runtime.NewMissingKindErr("..."), true
	case large && runtime.IsMissingVersion(err):
		return runtime.NewMissingVersionErr("..."), true
	}
	var causes []error
	for _, cause := range causesOf(err) {
		if cause != nil {
			rest, less := keep(cause)
			causes, cut = append(causes, rest), cut || less
		}
	}
	switch {
	case !cut && !large:
		return err, false
	case len(causes) == 0:
		return fmt.Errorf("an error of type %T that was too large to be kept", err), true
	default:
		return Told(strings.Clone(Shortened(err.Error())), errors.Join(causes...)), true
	}
}

// keyErrorWithout is e without its object.
func keyErrorWithout(e clientgo.KeyError) clientgo.KeyError {
	cause := errors.New("no key")
	if e.Err != nil {
		cause, _ = keep(e.Err)
	}
	return clientgo.KeyError{Obj: fmt.Sprintf("of type %T", e.Obj), Err: cause}
}

// statusWithout is e with what decides about an error of a server, and the beginning of what it
// says.
func statusWithout(e *apierrors.StatusError) *apierrors.StatusError {
	said := e.ErrStatus
	rest := metav1.Status{Status: metav1.StatusFailure, Reason: Shortened(said.Reason), Code: said.Code, Message: Shortened(said.Message)}
	if d := said.Details; d != nil {
		rest.Details = &metav1.StatusDetails{Group: Shortened(d.Group), Kind: Shortened(d.Kind), RetryAfterSeconds: d.RetryAfterSeconds}
		for _, cause := range d.Causes[:min(len(d.Causes), 8)] {
			rest.Details.Causes = append(rest.Details.Causes, metav1.StatusCause{Type: Shortened(cause.Type)})
		}
	}
	return &apierrors.StatusError{ErrStatus: rest}
}
