/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Fields read and written as what they are: the generated code is compiled with this in front of it.
 *
 * DPDK's instructions read and write a field of any width as 64 bits, its neighbours included. Where
 * one field is written after the other, as in a postcard, each of them has to wait until the one
 * before it is in the cache: a processor cannot forward part of a store to a load that overlaps it.
 * With widths known to the compiler an access of the field alone is a single instruction.
 *
 * The names are those of DPDK's inline functions, which the generated code calls; those that are not
 * here are DPDK's. Little-endian, as the processors that DPDK makes native code for here.
 */
#ifndef NASHBED_NATIVE_FIELDS_H
#define NASHBED_NATIVE_FIELDS_H

#include <rte_swx_pipeline_internal.h>

#if RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN

/* In the order of its bytes in memory. */
static __rte_always_inline uint64_t
field_read(const uint8_t *at, uint32_t n_bits)
{
	switch (n_bits) {
	case 8:
		return *at;
	case 16:
		return *(const unaligned_uint16_t *)at;
	case 32:
		return *(const unaligned_uint32_t *)at;
	case 48:
		return *(const unaligned_uint32_t *)at |
		       (uint64_t) * (const unaligned_uint16_t *)(at + 4) << 32;
	default:
		return *(const unaligned_uint64_t *)at & UINT64_MAX >> (64 - n_bits);
	}
}

static __rte_always_inline void
field_write(uint8_t *at, uint32_t n_bits, uint64_t value)
{
	uint64_t mask = UINT64_MAX >> (64 - n_bits);

	switch (n_bits) {
	case 8:
		*at = (uint8_t)value;
		break;
	case 16:
		*(unaligned_uint16_t *)at = (uint16_t)value;
		break;
	case 32:
		*(unaligned_uint32_t *)at = (uint32_t)value;
		break;
	case 48:
		*(unaligned_uint32_t *)at = (uint32_t)value;
		*(unaligned_uint16_t *)(at + 4) = (uint16_t)(value >> 32);
		break;
	default:
		*(unaligned_uint64_t *)at =
			(*(const unaligned_uint64_t *)at & ~mask) | (value & mask);
	}
}

static __rte_always_inline uint8_t *
field_at(const struct thread *t, const struct instr_operand *x)
{
	return t->structs[x->struct_id] + x->offset;
}

/* Of metadata and action arguments, in the host's order; of headers, in the network's. */
static __rte_always_inline uint64_t
field_hbo(const struct thread *t, const struct instr_operand *x)
{
	return field_read(field_at(t, x), x->n_bits);
}

static __rte_always_inline uint64_t
field_nbo(const struct thread *t, const struct instr_operand *x)
{
	return rte_bswap64(field_hbo(t, x)) >> (64 - x->n_bits);
}

static __rte_always_inline void
field_set_hbo(struct thread *t, const struct instr_operand *x, uint64_t value)
{
	field_write(field_at(t, x), x->n_bits, value);
}

static __rte_always_inline void
field_set_nbo(struct thread *t, const struct instr_operand *x, uint64_t value)
{
	field_set_hbo(t, x, rte_bswap64(value) >> (64 - x->n_bits));
}

static __rte_always_inline uint64_t *
register_at(struct rte_swx_pipeline *p, const struct instruction *ip, uint64_t index)
{
	const struct regarray_runtime *r = &p->regarray_runtime[ip->regarray.regarray_id];

	return &r->regarray[index & r->size_mask];
}

#define instr_operand_hbo field_hbo
#define instr_operand_nbo field_nbo

#define __instr_mov_exec(p, t, ip) field_set_hbo(t, &(ip)->mov.dst, field_hbo(t, &(ip)->mov.src))
#define __instr_mov_mh_exec(p, t, ip) field_set_hbo(t, &(ip)->mov.dst, field_nbo(t, &(ip)->mov.src))
#define __instr_mov_hm_exec(p, t, ip) field_set_nbo(t, &(ip)->mov.dst, field_hbo(t, &(ip)->mov.src))
#define __instr_mov_hh_exec(p, t, ip) field_set_nbo(t, &(ip)->mov.dst, field_nbo(t, &(ip)->mov.src))
#define __instr_mov_i_exec(p, t, ip) field_set_hbo(t, &(ip)->mov.dst, (ip)->mov.src_val)

#define FIELD_CHANGE(t, ip, operator, operand)                                                     \
	field_set_hbo(t, &(ip)->alu.dst, field_hbo(t, &(ip)->alu.dst) operator(operand))
#define __instr_alu_add_exec(p, t, ip) FIELD_CHANGE(t, ip, +, field_hbo(t, &(ip)->alu.src))
#define __instr_alu_add_mh_exec(p, t, ip) FIELD_CHANGE(t, ip, +, field_nbo(t, &(ip)->alu.src))
#define __instr_alu_add_mi_exec(p, t, ip) FIELD_CHANGE(t, ip, +, (ip)->alu.src_val)
#define __instr_alu_sub_exec(p, t, ip) FIELD_CHANGE(t, ip, -, field_hbo(t, &(ip)->alu.src))
#define __instr_alu_sub_mh_exec(p, t, ip) FIELD_CHANGE(t, ip, -, field_nbo(t, &(ip)->alu.src))
#define __instr_alu_and_i_exec(p, t, ip) FIELD_CHANGE(t, ip, &, (ip)->alu.src_val)
#define __instr_alu_shl_mi_exec(p, t, ip) FIELD_CHANGE(t, ip, <<, (ip)->alu.src_val)
#define __instr_alu_shr_mi_exec(p, t, ip) FIELD_CHANGE(t, ip, >>, (ip)->alu.src_val)

#define REGISTER_M(p, t, ip) (*register_at(p, ip, field_hbo(t, &(ip)->regarray.idx)))
#define REGISTER_H(p, t, ip) (*register_at(p, ip, field_nbo(t, &(ip)->regarray.idx)))
#define __instr_regadd_rhh_exec(p, t, ip)                                                          \
	(REGISTER_H(p, t, ip) += field_nbo(t, &(ip)->regarray.dstsrc))
#define __instr_regadd_rhi_exec(p, t, ip) (REGISTER_H(p, t, ip) += (ip)->regarray.dstsrc_val)
#define __instr_regadd_rmh_exec(p, t, ip)                                                          \
	(REGISTER_M(p, t, ip) += field_nbo(t, &(ip)->regarray.dstsrc))
#define __instr_regadd_rmi_exec(p, t, ip) (REGISTER_M(p, t, ip) += (ip)->regarray.dstsrc_val)
#define __instr_regrd_mrh_exec(p, t, ip)                                                           \
	field_set_hbo(t, &(ip)->regarray.dstsrc, REGISTER_H(p, t, ip))
#define __instr_regrd_mrm_exec(p, t, ip)                                                           \
	field_set_hbo(t, &(ip)->regarray.dstsrc, REGISTER_M(p, t, ip))
#define __instr_regwr_rhm_exec(p, t, ip)                                                           \
	(REGISTER_H(p, t, ip) = field_hbo(t, &(ip)->regarray.dstsrc))
#define __instr_regwr_rmm_exec(p, t, ip)                                                           \
	(REGISTER_M(p, t, ip) = field_hbo(t, &(ip)->regarray.dstsrc))

#endif

#endif
