// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"sort"
	"strings"
)

// surface is what a package shows: its exported names, and which of them (or of their methods,
// "Type.Method") are marked deprecated.
type surface struct {
	pkg        *types.Package
	deprecated map[string]bool
}

// surfaceReport is the result of comparing our surface with theirs. All names are without their
// package, in alphabetical order.
type surfaceReport struct {
	missing   []string // names that only they have
	extra     []string // names that only we have; "Type.Member" for a member that only our own type has
	different []string // types that both have and that are two types
	faults    []string // differences that keep a user's code from compiling, or from meaning the same
}

// comparison compares two surfaces, taking our type for theirs of the same name where own says that
// it has an engine of its own.
type comparison struct {
	theirs, ours surface
	own          func(name string) bool
	report       surfaceReport
}

func compareSurfaces(theirs, ours surface, own func(name string) bool) surfaceReport {
	c := &comparison{theirs: theirs, ours: ours, own: own}
	for _, name := range exportedNames(theirs.pkg) {
		if our := ours.pkg.Scope().Lookup(name); our == nil {
			c.report.missing = append(c.report.missing, name)
		} else {
			c.compareObject(theirs.pkg.Scope().Lookup(name), our)
		}
	}
	for _, name := range exportedNames(ours.pkg) {
		if theirs.pkg.Scope().Lookup(name) == nil {
			c.report.extra = append(c.report.extra, name)
		}
	}
	sort.Strings(c.report.extra)
	sort.Strings(c.report.faults)
	return c.report
}

func (c *comparison) faultf(name, format string, args ...any) {
	c.report.faults = append(c.report.faults, name+": "+fmt.Sprintf(format, args...))
}

func (c *comparison) compareObject(their, our types.Object) {
	name := their.Name()
	c.compareDeprecated(name)
	if kindOf(their) != kindOf(our) {
		c.faultf(name, "is a %s, theirs is a %s", kindOf(our), kindOf(their))
		return
	}
	switch their := their.(type) {
	case *types.Const:
		c.compareConst(their, our.(*types.Const))
	case *types.TypeName:
		c.compareType(their, our.(*types.TypeName))
	default:
		c.compareUse(name, their.Type(), our.Type())
	}
}

func (c *comparison) compareConst(their, our *types.Const) {
	if !constant.Compare(their.Val(), token.EQL, our.Val()) {
		c.faultf(their.Name(), "has the value %s, theirs has %s", our.Val(), their.Val())
	}
	c.compareUse(their.Name(), their.Type(), our.Type())
}

func (c *comparison) compareUse(name string, their, our types.Type) {
	if !c.same(their, our) {
		c.faultf(name, "has the type %s, theirs has %s", our, their)
	}
}

func (c *comparison) compareDeprecated(name string) {
	if their, our := c.theirs.deprecated[name], c.ours.deprecated[name]; their != our {
		c.faultf(name, "marked deprecated: %t, theirs: %t", our, their)
	}
}

// compareType reports two types of one name as different. Whoever uses only what is exported must
// still be able to use ours for theirs: the same kind of type, and each exported field and method.
func (c *comparison) compareType(their, our *types.TypeName) {
	if identicalTypes(their.Type(), our.Type()) {
		return
	}
	name := their.Name()
	c.report.different = append(c.report.different, name)
	if t, o := shapeOf(their.Type()), shapeOf(our.Type()); t != o {
		c.faultf(name, "is %s, theirs is %s", o, t)
		return
	}
	c.compareMembers(name, fieldsOf(their.Type()), fieldsOf(our.Type()))
	c.compareMembers(name, methodsOf(their.Type()), methodsOf(our.Type()))
	c.compareReceivers(name, their.Type(), our.Type())
}

func (c *comparison) compareMembers(owner string, theirs, ours map[string]types.Type) {
	for member, their := range theirs {
		name := owner + "." + member
		our, ok := ours[member]
		if !ok {
			c.faultf(name, "is missing")
			continue
		}
		c.compareUse(name, their, our)
		c.compareDeprecated(name)
	}
	for member := range ours {
		if _, ok := theirs[member]; !ok {
			c.report.extra = append(c.report.extra, owner+"."+member)
		}
	}
}

// compareReceivers finds methods that a value of their type has and only a pointer to ours.
func (c *comparison) compareReceivers(owner string, their, our types.Type) {
	values := types.NewMethodSet(our)
	for method := range types.NewMethodSet(their).Methods() {
		if obj := method.Obj(); obj.Exported() && values.Lookup(c.ours.pkg, obj.Name()) == nil {
			c.faultf(owner+"."+obj.Name(), "has a pointer receiver, theirs has a value")
		}
	}
}

// same tells whether two types are one, taking our types with an own engine for theirs at any
// depth.
func (c *comparison) same(their, our types.Type) bool {
	if c.substitutes(their, our) {
		return true
	}
	their, our = types.Unalias(their), types.Unalias(our)
	switch their := their.(type) {
	case *types.Named:
		our, ok := our.(*types.Named)
		return ok && (c.substitutes(their, our) || their.Origin() == our.Origin()) &&
			c.sameList(typeArgs(their), typeArgs(our))
	case *types.TypeParam:
		our, ok := our.(*types.TypeParam)
		return ok && their.Index() == our.Index()
	case *types.Pointer:
		our, ok := our.(*types.Pointer)
		return ok && c.same(their.Elem(), our.Elem())
	case *types.Slice:
		our, ok := our.(*types.Slice)
		return ok && c.same(their.Elem(), our.Elem())
	case *types.Map:
		our, ok := our.(*types.Map)
		return ok && c.same(their.Key(), our.Key()) && c.same(their.Elem(), our.Elem())
	case *types.Chan:
		our, ok := our.(*types.Chan)
		return ok && their.Dir() == our.Dir() && c.same(their.Elem(), our.Elem())
	case *types.Signature:
		our, ok := our.(*types.Signature)
		return ok && c.sameSignature(their, our)
	}
	return types.Identical(their, our)
}

func (c *comparison) sameSignature(their, our *types.Signature) bool {
	return their.Variadic() == our.Variadic() &&
		c.sameList(constraints(their.TypeParams()), constraints(our.TypeParams())) &&
		c.sameList(elements(their.Params()), elements(our.Params())) &&
		c.sameList(elements(their.Results()), elements(our.Results()))
}

func (c *comparison) sameList(their, our []types.Type) bool {
	if len(their) != len(our) {
		return false
	}
	for i := range their {
		if !c.same(their[i], our[i]) {
			return false
		}
	}
	return true
}

// substitutes tells whether our names one of our types with an own engine and their its
// counterpart, alias or not.
func (c *comparison) substitutes(their, our types.Type) bool {
	t, o := typeName(their), typeName(our)
	return t != nil && o != nil && t.Name() == o.Name() && t.Pkg() == c.theirs.pkg && o.Pkg() == c.ours.pkg &&
		c.own(t.Name())
}

// identicalTypes tells whether our is their, or an alias of it. An alias of a generic type must
// hand over its parameters one by one, under the same constraints.
func identicalTypes(their, our types.Type) bool {
	alias, ok := our.(*types.Alias)
	if !ok || alias.TypeParams().Len() == 0 {
		return types.Identical(their, our)
	}
	theirNamed, ok := their.(*types.Named)
	ourNamed, okOurs := types.Unalias(our).(*types.Named)
	if !ok || !okOurs || theirNamed.Origin() != ourNamed.Origin() || alias.TypeParams().Len() != ourNamed.TypeArgs().Len() {
		return false
	}
	for i := range alias.TypeParams().Len() {
		param := alias.TypeParams().At(i)
		if ourNamed.TypeArgs().At(i) != param ||
			!types.Identical(param.Constraint(), theirNamed.TypeParams().At(i).Constraint()) {
			return false
		}
	}
	return true
}

func exportedNames(pkg *types.Package) []string {
	names := pkg.Scope().Names()
	exported := names[:0:0]
	for _, name := range names {
		if token.IsExported(name) {
			exported = append(exported, name)
		}
	}
	return exported
}

func kindOf(obj types.Object) string {
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", obj), "*types."))
}

// shapeOf names the kind of type that composite literals, calls and type parameters depend on.
func shapeOf(t types.Type) string {
	shape := strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", t.Underlying()), "*types."))
	if generic, ok := t.(interface{ TypeParams() *types.TypeParamList }); ok && generic.TypeParams().Len() > 0 {
		return fmt.Sprintf("%s of %d types", shape, generic.TypeParams().Len())
	}
	return shape
}

func fieldsOf(t types.Type) map[string]types.Type {
	fields := map[string]types.Type{}
	if s, ok := t.Underlying().(*types.Struct); ok {
		for field := range s.Fields() {
			if field.Exported() {
				fields[field.Name()] = field.Type()
			}
		}
	}
	return fields
}

// methodsOf returns the exported methods of a pointer to t, or of t where t is an interface.
func methodsOf(t types.Type) map[string]types.Type {
	if !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	methods := map[string]types.Type{}
	for method := range types.NewMethodSet(t).Methods() {
		if method.Obj().Exported() {
			methods[method.Obj().Name()] = method.Type()
		}
	}
	return methods
}

func typeName(t types.Type) *types.TypeName {
	if named, ok := t.(interface{ Obj() *types.TypeName }); ok {
		return named.Obj()
	}
	return nil
}

func typeArgs(t *types.Named) (list []types.Type) {
	for arg := range t.TypeArgs().Types() {
		list = append(list, arg)
	}
	return list
}

func constraints(params *types.TypeParamList) (list []types.Type) {
	for param := range params.TypeParams() {
		list = append(list, param.Constraint())
	}
	return list
}

func elements(tuple *types.Tuple) (list []types.Type) {
	for v := range tuple.Variables() {
		list = append(list, v.Type())
	}
	return list
}
